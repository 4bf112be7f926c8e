/**
 * Whatever a command, a condition or an Event tells people to do. A cure that breaks a healthy
 * cluster is worse than none, so each has a name, and docs/cures.md says of each name which test
 * executes it, on which part. `test/cures-page.test.ts` refuses a name without one, and a
 * finding takes no text that is not a `Cure`.
 *
 * What could not be executed says so in its own words (`notTried`).
 */
export const cureNames = [
  // Blocks, pools and records.
  'MoveToAnotherBlock',
  'AddCidrAround',
  'ReserveNetwork',
  'ChangePool',
  'ReserveNodeAddress',
  'CorrectClaim',
  'RaiseMaxBlocks',
  'GrowPool',
  'MakePoolForGroup',
  'AlignCiliumPodIPPool',
  'ReleaseBlock',
  'BindAgents',
  'RunOperator',
  'DeleteCiliumNode',
  'ReleaseAddresses',
  'GiveBlockBack',
  'ReportAgain',
  'SeeAgent',
  'LeaveNodeSpec',
  'CorrectRecord',
  'UpgradeCilium',
  'ProjectRecord',
  'StopCiliumAllocator',
  'StopNodeIpam',
  'RunOneAllocator',
  'ProjectElsewhere',
  // What agents and pods use.
  'RestartCiliumAgent',
  'DeletePods',
  'NameMachine',
  'RebootNode',
  'SeeKernel',
  'SeeNftables',
  'GiveNodeAddress',
  // Routes and sessions.
  'StopAnnouncer',
  'ReadBgpObjects',
  'AnnounceBlock',
  'StaticRoute',
  'ClearRoute',
  'CorrectNextHop',
  'SeeRouterFilter',
  'SeeSessions',
  'ReplaceKernelRoute',
  'StopHijack',
  'LetOneAnnounce',
  'LabelForPeer',
  'CorrectPeer',
  'ActivateFamily',
  'CorrectAnnouncement',
  'ConfirmBlock',
  // Cilium's BGP objects.
  'SeeCiliumNode',
  'OnePeeringPolicy',
  'ExportPodCidr',
  'AdvertisePods',
  'CreateClusterConfig',
  'LabelForClusterConfig',
  'RunCiliumOperator',
  'SeeCiliumSession',
  'GivePeerConfigRef',
  'CreatePeerConfig',
  'CreateCiliumPodIPPool',
  'AlignMaskSize',
  // Steps and waits of a migration.
  'ForgetMove',
  'DeleteBarePods',
  'StartPodsAgain',
  'RestartDataPath',
  'FindAgentPod',
  'PutLabelsBack',
  'GoOn',
] as const;

export type CureName = (typeof cureNames)[number];

declare const isCure: unique symbol;

/** A text that came from `cure`. */
export type Cure = string & { readonly [isCure]: true };

export function cure(_name: CureName, text: string): Cure {
  return text as Cure;
}

/** Nothing is to be done: what is so passes by itself, or somebody means it so. */
export const noCure = '' as Cure;

/** Several of them as one text. */
export function joinedCures(cures: readonly Cure[]): Cure {
  return [...new Set(cures)].join('; ') as Cure;
}

/** For a cure whose part nobody here has: it is said beside it. */
export const notTried = '(not tried by us)';
