/**
 * One vocabulary. The same word is the condition's reason, the Event's reason,
 * the metric's label, the log's field and the finding. The sentence is what
 * `cadastre explain` and the docs print.
 */
export const reasons = {
  // Why a node has its blocks.
  BlocksAssigned: 'The node holds every block it should.',
  Adopted: 'A block that the node already held was taken into the register.',
  Assigned: 'A new block was cut from a pool.',
  Returned: 'A node came back in time and got its cooling block back.',
  Registered: 'The block was found in the register; how it came there was not seen.',

  // Why a node has none, or not all.
  NoPoolSelectsNode: "No pool's nodeSelector matches the node's labels.",
  FamilyNotServed: 'Pools select the node, but none of them serves this family by itself.',
  PoolExhausted: 'Every pool that selects the node is full.',
  PoolDisabled: 'The pools that select the node are disabled or being deleted.',
  OverlappingPools: 'Pools overlap each other; the younger one serves nothing.',
  OverlapsNetwork:
    'A pool overlaps a Service network, and serves nothing; or an address of a node, whose block is not given out.',
  MalformedPool: 'A pool could not be understood; it serves nothing.',
  DuplicateBlock: 'Two nodes hold the same block.',
  OverlappingBlocks: 'Two nodes hold blocks that overlap.',
  OutsidePools: 'A node holds a block that lies in no pool.',
  ClaimRefused:
    'Records claim more for a node than one node may hold; it is not adopted, and kept from nobody else.',
  BlockLimitReached: 'The node holds as many blocks of the pool as one node may.',
  AdoptionIncomplete: 'A held block is kept, but not adopted before the other family is settled.',
  MalformedHolding: 'A record of a held block could not be understood.',
  NoBlockRecorded: 'Nothing records a block of the node, and this mode allocates none.',
  WaitingForRegister: 'Nothing is cut before all existing blocks are known.',

  RestoredFromBackup:
    'Agents use blocks that the register lost or gives to others, as after a restore of etcd.',

  WaitingForBlocks: 'The agent waits for the operator to give the node its blocks.',
  WaitingForResources: 'The agent waits until the custom resources are registered.',
  WaitingForNode: 'The agent waits until its Node exists.',
  WaitingForCluster: 'The API server has not answered yet, and nothing is known from before.',
  WorkingFromMemory: 'The API server is away; the agent goes on with what it last knew.',
  NotThisMachine: "The agent's machine has no address of the Node; it serves nothing.",
  DuplicateAgent: 'Two machines have one node name; the one that came later serves nothing.',
  BlockFull: 'The node has no address for another pod; pods that run are not affected.',
  AddressesFree: 'The node has addresses for more pods.',
  AgentReady: 'The agent serves pod addresses, routes and announcements.',

  // Why a Service has its address, or none.
  AddressAssigned: 'The Service holds every address it should.',
  NoPoolFitsService: 'No pool of Service addresses fits the Service.',
  AddressesExhausted: 'Every pool that fits the Service is full.',
  AddressTaken: 'The address that the Service asks for belongs to another.',
  AddressOutsidePools: 'The address that the Service asks for lies in no pool that fits it.',
  MalformedRequest: 'What the Service asks for could not be understood.',

  // What a node's agent finds about routes and announcements.
  NotOwner:
    'A prefix is not announced, because the register gives it to another node or Service, or to nobody.',
  NotOnLink: 'A node is in another subnet, and this routing mode leaves its blocks to the routers.',
  NoAddressOfFamily: 'A node has no address of the family that a route to its blocks needs.',
  RouteRefused: 'The kernel refused a route.',
  MasqueradeRefused: 'What pods send out of the cluster cannot be given the address of the node.',
  MasqueradeRepaired: 'Somebody changed our masquerade; it was put back.',
  StrayInterface: 'An interface of a pod is in no journal; its addresses are kept back.',
  StateDamaged: 'A file that was kept on disk is damaged.',
  AddressOwnersUnknown:
    'The journal of pod addresses was damaged, and blocks give no address that may be in use.',
  RouteRepaired: 'Somebody changed a route of ours; it was put back.',
  PodRepaired: "Somebody changed a pod's interface or route on the node; it was put back.",
  DuplicateAddress: 'Two pods have the same address.',
  AgentOnOldBlock: 'The agent of Cilium on a node serves from a block that is not the node’s now.',
  PodsOutsideBlocks: 'Pods of the node have addresses of no block that it holds.',
  Hijacked: 'A router reaches a block of the node, or a piece of it, by another next hop.',
  PeerRefused: 'A BGP peer cannot be served as it is configured.',
  MalformedConfig: 'The BGP configuration could not be understood; the last good one stays.',

  // Why a node does not announce a block that it owns; NotOwner and PeerRefused are others.
  NodeDraining: 'The node is being drained; its routes are withdrawn from the routers.',
  KernelRoutePending: "The kernel has not taken the block's route yet; it is announced after that.",
  NoPeerSelectsNode: "No BGP peer is configured whose node selectors match the node's labels.",
  SessionNotEstablished: 'The BGP session with the peer is not established.',
  FamilyNotNegotiated: 'The BGP session does not carry routes of this address family.',
  NoNextHop: 'The node has no address of this family to name as next hop.',
  AnnouncementRefused: 'The route cannot be sent to this peer.',
  AnnouncementPending: 'The route is about to be sent to the peer.',
  BlockFenced:
    'The node has withdrawn the block, and uses it again when the API server confirms it.',
  BlockUnconfirmed:
    'The node was off or without routers for so long that the block may be used elsewhere; it is announced when it is confirmed.',
  BlockMissing:
    'A block is gone from the register though its node did not give it back; the node claims it.',

  // What else can be found.
  SourcesDisagree: "Records of one node's blocks differ.",
  PoolNoLongerSelects: 'The node holds a block of a pool that no longer selects it.',
  SurplusBlock: 'The node holds more blocks than it should; the surplus is released.',
  HolderGone: 'A record names a block of a node that does not exist.',
  ProjectionRefused: 'The API server refused a projection of the register.',
  ProjectionContested: 'Somebody else keeps overwriting a projection of the register.',
  MalformedBlock: 'A NodeBlock could not be understood.',

  // What the doctor finds when it compares all records with what routers hold.
  Detour: "Traffic to a node's block enters at another node, which has to pass it on.",
  Blackhole: "No router has a route to a node's block; its pods are cut off from outside.",
  Orphan: 'A node announces a block that no node owns.',
  Stale: 'A router holds a block that nobody owns, with a next hop that is no node.',
  NotAnnounced: 'A node does not announce a block that it owns.',
  NotHeld: 'A block is announced, but a router that should have the route does not.',
  WrongNextHop: "A router sends a node's traffic to an address that is no node and no router.",
  UnknownPrefix: 'A node announces a prefix that belongs to no pool and no service.',
  SecondAllocator: 'Two allocators give out blocks on one cluster.',
  SecondSpeaker: 'Two programs on one node announce its blocks to the same router.',
  PoolsDiffer: 'An IPPool has addresses that the CiliumPodIPPool of the same name does not have.',
  PoolNearlyFull: 'A pool has few free blocks left, or will have soon.',
  NoPoolForGroup: 'Nodes of one kind are selected by no pool.',
  LeakedAddress: 'An agent holds addresses for pods that do not exist.',
  StrandedBlock: 'A block is held for a node that does not exist.',

  // What happens to blocks and pools, and to the definitions of our resources.
  ResourceDefinitionRestored:
    'A resource definition of ours was deleted, with every object of it; it is registered again.',
  Draining: 'The block is released when its node has no pod left in it.',
  Cooling: 'The node is gone; the block is kept unused for the cool-down of its pool.',
  AwaitingWitness:
    'The cool-down is over, but nobody says that the old node does not use the block.',
  ReportNotAttributed:
    "A node's report would release the block, but another node's agent could have written it.",
  ReleasedByTime:
    'Nobody said that the old node does not use the block; it is released by time alone.',
  Released: 'The block is free again.',
  Announced: 'The node advertised the block to its routers.',
  Withdrawn: 'The node withdrew the block from its routers, or its report ended.',
  PoolReady: 'The pool serves nodes.',
  PoolInUse: 'The pool is being deleted, but nodes still hold its blocks.',
  Exhausted: 'The pool has no free block.',
  HasFreeBlocks: 'The pool has free blocks.',
  HasFreeAddresses: 'The pool has free addresses.',
  NoConflict: 'The pool overlaps nothing.',
  NoDrift: 'What is allocated, used and announced agrees.',
} as const;

export type Reason = keyof typeof reasons;
