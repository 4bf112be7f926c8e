import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { block, node } from '../../../test/register/objects.ts';
import { readCiliumNode } from '../../model/cilium-node.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeMigration } from '../../model/node-migration.ts';
import { readPod } from '../../model/pod.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { AgentUses } from '../cilium/agent-uses.ts';
import {
  isUntouched,
  type MigrationAction,
  type MigrationWorld,
  type MovingPod,
  nextStep,
} from './migration-next.ts';

const addressIn = (cidr: string, at: number) => cidr.replace('0/24', `${at}`);
const noUses = new AgentUses({ nodes: [], ciliumNodes: [] }).of('n');
const agentPod = {
  namespace: 'kube-system',
  name: 'cilium-x',
  uid: 'agent',
  createdMs: 0,
  isGoing: false,
};
const old = '10.1.0.0/24';
const fresh = '10.2.0.0/24';

type Node = NonNullable<MigrationWorld['node']>;

function nodeOf(uid: string, more: Partial<Node> = {}): Node {
  return { ...node('n', { uid, addresses: ['192.168.0.7'] }), isUnschedulable: false, ...more };
}

function blockOf(cidr: string, uid: string, phase: Block['phase'] = 'Active'): Block {
  return { ...block(cidr, 'n', { nodeUid: uid, pool: 'p' }), phase };
}

interface Start {
  method: NodeMigration['method'];
  hasAgent: boolean;
  pods: number;
  daemons: number;
  isRegistered: boolean;
  hasCilium: boolean;
  /** One that fixes its block when it starts. */
  hasCiliumAgent?: boolean;
}

/** A node about to move, with everything around it that answers. */
const withoutDrain = ({
  isLeaving: _,
  keepsRoutesWhenCordoned: __,
  ...rest
}: NonNullable<MigrationWorld['node']>) => rest;

/** What the test adds to a pod: where it lives. */
type LivingPod = MovingPod & { address: string };

class Site {
  world: MigrationWorld;
  readonly start: Start;
  #born = 1;
  #nowMs = 1_000;
  #serial = 0;
  /** The block that Cilium's agent took when it started. */
  served = old;

  constructor(start: Start) {
    this.start = start;
    const pod = (name: string, isOfDaemonSet: boolean): LivingPod => ({
      namespace: 'x',
      name,
      uid: name,
      isOfDaemonSet,
      createdMs: 0,
      isGoing: false,
      address: this.#newAddress(old),
    });
    this.world = {
      node: nodeOf('u1', start.isRegistered ? {} : { podCidrs: [old] }),
      blocks: start.isRegistered ? [blockOf(old, 'u1')] : [],
      report: undefined,
      ciliumPodCidrs: start.hasCilium ? [old] : [],
      uses: noUses,
      may: { evict: true, restartAgent: true },
      agentPod: start.hasCiliumAgent ? { ...agentPod, createdMs: 0 } : undefined,
      pods: [
        ...Array.from({ length: start.pods }, (_, at) => pod(`p${at}`, false)),
        ...Array.from({ length: start.daemons }, (_, at) => pod(`d${at}`, true)),
      ],
      migration: {
        name: 'n',
        uid: 'm',
        resourceVersion: '1',
        nodeName: 'n',
        nodeUid: 'u1',
        from: [old],
        pools: ['p'],
        method: start.method,
        phase: 'Moving',
        wasUnschedulable: false,
        // An agent announces what is registered, and nothing else.
        wasAnnounced: start.hasAgent && start.isRegistered,
        hasReleased: false,
        undoUid: '',
        saved: {
          node: {},
          ...(start.hasCilium ? { ciliumPodCidrs: [old] } : {}),
          ...(start.hasCiliumAgent ? { ciliumInternalIps: ['10.1.0.1'] } : {}),
        },
        step: '',
        message: '',
      },
    };
    this.#set({});
    this.agentTurn();
  }

  #set(more: Partial<MigrationWorld>): void {
    const world = { ...this.world, ...more };
    const { hasCiliumAgent } = this.start;
    const internal = addressIn(this.served, 1);
    const seen = new AgentUses({
      nodes: [],
      ciliumNodes: hasCiliumAgent
        ? [
            readCiliumNode({
              metadata: { name: 'n' },
              spec: { addresses: [{ type: 'CiliumInternalIP', ip: internal }] },
            }),
          ]
        : [],
      pods: (world.pods as LivingPod[]).map((pod) => ({
        ...readPod({ metadata: { name: pod.name, namespace: pod.namespace } }),
        node: 'n',
        addresses: [pod.address],
      })),
    });
    this.world = { ...world, uses: seen.of('n') };
  }

  #newAddress(cidr: string): string {
    this.#serial += 1;
    return addressIn(cidr, 1 + this.#serial);
  }

  usersOf(cidr: string): string[] {
    const block = parsePrefix(cidr)!;
    return this.world.uses.podsIn(block).map(({ pod }) => pod);
  }

  #node(more: Partial<Node>): void {
    if (this.world.node !== undefined) this.#set({ node: { ...this.world.node, ...more } });
  }

  act(action: MigrationAction): void {
    const { world } = this;
    const { migration, node: there } = world;
    switch (action.do) {
      case 'cordon':
        this.#node({ isUnschedulable: true });
        return;
      case 'uncordon':
        this.#set({ node: { ...withoutDrain(there!), isUnschedulable: false } });
        return;
      case 'withdraw':
        this.#node({ isLeaving: true });
        return;
      case 'announce': {
        this.#set({ node: { ...withoutDrain(there!), keepsRoutesWhenCordoned: true } });
        return;
      }
      case 'evict':
        this.#set({
          pods: world.pods.map((pod) =>
            action.pods.some(({ uid }) => uid === pod.uid) ? { ...pod, isGoing: true } : pod,
          ),
        });
        return;
      case 'mark released':
        // Nothing that pods use may be let go while pods use it, or routers send traffic there;
        // but our own agent serves from two blocks at once.
        if (this.start.method === 'recreate' || this.start.hasCiliumAgent) {
          expect(world.pods.filter((pod) => !pod.isOfDaemonSet)).toEqual([]);
          expect(world.report?.announced?.size ?? 0).toBe(0);
        }
        this.#set({ migration: { ...migration, hasReleased: true } });
        return;
      case 'drain block':
        expect(migration.hasReleased).toBe(true);
        this.#set({
          blocks: world.blocks.map((one) =>
            one.name === action.block.name ? { ...one, phase: 'Draining' } : one,
          ),
        });
        return;
      case 'delete node':
        expect(migration.hasReleased).toBe(true);
        expect(there?.uid).toBe(action.uid);
        expect(world.pods.filter((pod) => !pod.isOfDaemonSet)).toEqual([]);
        // The kubelet goes on with its pods; without one that is known, nobody asks after them.
        this.#set({
          node: undefined,
          pods: this.start.hasCiliumAgent ? world.pods : [],
          report: undefined,
        });
        return;
      case 'create node':
        expect(there).toBeUndefined();
        this.#born += 1;
        this.#set({
          node: nodeOf(`u${this.#born}`, {
            isUnschedulable: true,
            createdMs: this.#nowMs,
            podCidrs: action.withRecords ? [old] : [],
          }),
        });
        return;
      case 'clear cilium':
        this.#set({ ciliumPodCidrs: [] });
        return;
      case 'restore cilium':
        this.#set({ ciliumPodCidrs: action.podCidrs });
        return;
      case 'restart agent':
        expect(action.pod.uid).toBe(world.agentPod?.uid);
        expect(world.pods.filter((pod) => !pod.isOfDaemonSet)).toEqual([]);
        this.#set({ agentPod: { ...action.pod, isGoing: true } });
        return;
      case 'write witness': {
        // Only of what nobody uses any more.
        expect(this.usersOf(action.block.prefix.toString())).toEqual([]);
        const released = { by: 'NoRecord' } as const;
        this.#set({
          blocks: world.blocks.map((one) =>
            one.name === action.block.name ? { ...one, released } : one,
          ),
        });
        return;
      }
      case 'finish':
        if (this.start.hasCiliumAgent && migration.hasReleased) {
          const [left, taken] = action.phase === 'Moved' ? [old, fresh] : [fresh, old];
          expect([this.served, this.usersOf(left)]).toEqual([taken, []]);
        }
        this.#set({ migration: { ...migration, phase: action.phase } });
        return;
    }
  }

  undo(): void {
    const { migration, node: there } = this.world;
    this.#set({
      migration: {
        ...migration,
        phase: 'Undoing',
        hasReleased: migration.hasReleased && !isUntouched(this.world),
        undoUid: there?.uid ?? '',
      },
    });
  }

  /** The API server and the kubelet: pods on their way out are gone; DaemonSets put theirs back. */
  podsTurn(): void {
    this.#nowMs += 1_000;
    const { pods, node: there, blocks } = this.world;
    const own = blocks.find((one) => one.nodeUid === there?.uid && one.phase === 'Active');
    const from = this.start.hasCiliumAgent ? this.served : own?.prefix.toString();
    const next = (pods as LivingPod[]).flatMap((pod) => {
      if (!pod.isGoing) return [pod];
      if (!pod.isOfDaemonSet || from === undefined) return [];
      const address = this.#newAddress(from);
      const uid = `${pod.name}-${this.#serial}`;
      return [{ ...pod, uid, address, createdMs: this.#nowMs, isGoing: false }];
    });
    this.#set({ pods: next });
  }

  /** Cilium's agent: one that stops comes back, and takes the first block that its CiliumNode names. */
  ciliumTurn(): void {
    this.#nowMs += 1_000;
    const { agentPod: pod, ciliumPodCidrs } = this.world;
    const [first] = ciliumPodCidrs;
    if (!pod?.isGoing || first === undefined) return;
    this.served = first;
    const uid = `agent-${this.#nowMs}`;
    this.#set({ agentPod: { ...pod, uid, createdMs: this.#nowMs, isGoing: false } });
  }

  agentTurn(): void {
    const { node: there, blocks } = this.world;
    if (!this.start.hasAgent || there === undefined) return;
    const own = blocks.filter(({ nodeUid, phase }) => nodeUid === there.uid && phase !== 'Cooling');
    const isEmpty = this.world.pods.length === 0;
    const isCordonedAndEmpty =
      there.isUnschedulable && there.keepsRoutesWhenCordoned !== true && isEmpty;
    const isSilent = there.isLeaving === true || isCordonedAndEmpty;
    const told = isSilent ? [] : own;
    this.#set({
      report: {
        name: 'n',
        uid: 'r',
        resourceVersion: '1',
        nodeUid: there.uid,
        neededAddresses: {},
        releases: own
          .filter(
            ({ phase, prefix }) => phase === 'Draining' && this.usersOf(`${prefix}`).length === 0,
          )
          .map(({ prefix, uid }) => ({ cidr: prefix.toString(), uid })),
        announced: new Map(told.map(({ prefix }) => [prefix.toString(), ['tor']])),
      },
    });
  }

  /** What the operator does by its own rules, as far as this node is concerned. */
  operatorTurn(): void {
    const { node: there, blocks, report } = this.world;
    if (there === undefined) {
      this.#set({ blocks: blocks.map((one) => ({ ...one, phase: 'Cooling' })) });
      return;
    }
    const given = report?.nodeUid === there.uid ? report.releases.map(({ uid }) => uid) : [];
    const { hasCiliumAgent } = this.start;
    let next = blocks.map((one) => {
      const cidr = one.prefix.toString();
      const isUnused =
        this.served !== cidr &&
        this.usersOf(cidr).length === 0 &&
        !this.world.ciliumPodCidrs.includes(cidr);
      const isReleased = hasCiliumAgent ? isUnused : given.includes(one.uid);
      return one.phase === 'Draining' && isReleased ? { ...one, phase: 'Cooling' as const } : one;
    });
    const live = next.filter(({ nodeUid, phase }) => nodeUid === there.uid && phase === 'Active');
    const isDraining = next.some(
      ({ nodeUid, phase }) => nodeUid === there.uid && phase === 'Draining',
    );
    if (live.length === 0) {
      const wasGivenBack = (cidr: string) =>
        next.some((one) => `${one.prefix}` === cidr && given.includes(one.uid));
      const named = [...this.world.ciliumPodCidrs, ...there.podCidrs].filter(
        (cidr) => !wasGivenBack(cidr),
      );
      if (named.length > 0 && !isDraining) {
        // Records are believed: the block is the node's own again, or refused as before.
        if (this.start.isRegistered) {
          next = [
            ...next.filter((one) => `${one.prefix}` !== named[0]),
            blockOf(named[0]!, there.uid),
          ];
        } else {
          const condition = {
            type: '',
            status: 'False' as const,
            reason: 'OutsidePools',
            message: '',
          };
          this.#node({ condition });
        }
      } else {
        next = [
          ...next.filter((one) => `${one.prefix}` !== fresh),
          { ...blockOf(fresh, there.uid), createdMs: this.#nowMs },
        ];
      }
    }
    this.#set({ blocks: next });
    const active = next.find(({ nodeUid, phase }) => nodeUid === there.uid && phase === 'Active');
    if (active !== undefined && this.start.hasCilium) {
      const draining = next.filter(
        ({ nodeUid, phase, prefix }) =>
          nodeUid === there.uid && phase === 'Draining' && `${prefix}` === this.served,
      );
      const shown = hasCiliumAgent ? draining : [];
      this.#set({ ciliumPodCidrs: [active, ...shown].map(({ prefix }) => `${prefix}`) });
    }
  }
}

const anyStart = fc
  .record({
    method: fc.constantFrom<NodeMigration['method']>('release', 'recreate'),
    hasAgent: fc.boolean(),
    pods: fc.nat(2),
    daemons: fc.nat(1),
    isRegistered: fc.boolean(),
    hasCilium: fc.boolean(),
    hasCiliumAgent: fc.boolean(),
  })
  .map((start): Start => {
    if (start.hasCiliumAgent) {
      return { ...start, hasAgent: false, isRegistered: true, hasCilium: true };
    }
    // Only a registered node with an agent can give a block back.
    return start.method === 'release' ? { ...start, hasAgent: true, isRegistered: true } : start;
  });

type Turn = 'us' | 'pods' | 'agent' | 'cilium' | 'operator';
const everybody = ['us', 'pods', 'agent', 'cilium', 'operator'] as const;
const anyTurns = fc.array(fc.constantFrom<Turn>(...everybody), { maxLength: 60 });

/** One turn of whoever's it is; ours may also be a process that dies right after its write. */
function turn(site: Site, who: Turn): void {
  if (who === 'pods') site.podsTurn();
  else if (who === 'agent') site.agentTurn();
  else if (who === 'cilium') site.ciliumTurn();
  else if (who === 'operator') site.operatorTurn();
  else {
    const next = nextStep(site.world);
    expect(next.kind, JSON.stringify(next)).not.toBe('stuck');
    if (next.kind === 'do') site.act(next.action);
  }
}

function settle(site: Site): void {
  for (let round = 0; round < 60; round++) {
    for (const who of everybody) turn(site, who);
    if (nextStep(site.world).kind === 'done') return;
  }
  expect.fail(`it does not arrive: ${JSON.stringify(nextStep(site.world))}`);
}

const held = ({ world }: Site) =>
  world.blocks
    .filter(({ phase, nodeUid }) => phase === 'Active' && nodeUid === world.node?.uid)
    .map(({ prefix }) => prefix.toString());

describe('in whatever order the others act', () => {
  test('a node arrives with its new block, schedulable and announced, and nothing is let go too early', () => {
    fc.assert(
      fc.property(anyStart, anyTurns, (start, turns) => {
        const site = new Site(start);
        for (const who of turns) turn(site, who);
        settle(site);
        expect(site.world.migration.phase).toBe('Moved');
        expect(held(site)).toEqual([fresh]);
        expect(site.world.node).toMatchObject({ isUnschedulable: false });
        expect(site.world.node?.isLeaving).toBeUndefined();
        expect(site.world.node?.keepsRoutesWhenCordoned).toBeUndefined();
        if (start.hasAgent) expect([...site.world.report!.announced!.keys()]).toEqual([fresh]);
        // Nothing is left to do, and nothing is done twice.
        const before = site.world;
        turn(site, 'us');
        expect(site.world).toBe(before);
      }),
      { numRuns: runs(500) },
    );
  });

  function turnRound(start: Start, turns: readonly Turn[], later: readonly Turn[]): void {
    const site = new Site(start);
    for (const who of turns) turn(site, who);
    site.undo();
    for (const who of later) turn(site, who);
    settle(site);
    expect(site.world.migration.phase).toBe('Undone');
    expect(held(site)).toEqual(start.isRegistered ? [old] : []);
    expect(site.world.node).toMatchObject({ isUnschedulable: false });
    if (start.hasCilium) expect(site.world.ciliumPodCidrs).toEqual([old]);
  }

  test('a move that is turned round anywhere ends with the old block, schedulable', () => {
    fc.assert(fc.property(anyStart, anyTurns, anyTurns, turnRound), { numRuns: runs(500) });
  });

  test('also when the old block has cooled and another is there already', () => {
    const start: Start = {
      method: 'release',
      hasAgent: true,
      pods: 0,
      daemons: 0,
      isRegistered: true,
      hasCilium: false,
    };
    turnRound(start, ['us', 'us', 'agent', 'us', 'us', 'agent', 'operator'], []);
  });
});

describe('what cannot go on says so', () => {
  const start: Start = {
    method: 'recreate',
    hasAgent: false,
    pods: 0,
    daemons: 0,
    isRegistered: false,
    hasCilium: false,
  };

  test('another allocator fills in the new Node', () => {
    const site = new Site(start);
    for (let round = 0; round < 3; round++) turn(site, 'us');
    turn(site, 'us');
    site.world = { ...site.world, node: { ...site.world.node!, podCidrs: ['10.244.0.0/24'] } };
    const next = nextStep(site.world);
    expect(next).toMatchObject({ kind: 'stuck', step: 'assign' });
    expect(next.kind === 'stuck' && next.why).toContain('--allocate-node-cidrs=false');
  });

  test('somebody else deletes the Node before anything was let go', () => {
    const site = new Site(start);
    turn(site, 'us');
    site.world = { ...site.world, node: undefined };
    expect(nextStep(site.world)).toMatchObject({ kind: 'stuck' });
    site.undo();
    settle(site);
    expect(site.world.migration.phase).toBe('Undone');
  });

  test('routers that are watched must have the route first', () => {
    const site = new Site(start);
    site.world = { ...site.world, unseen: [fresh] };
    for (let round = 0; round < 20; round++) {
      for (const who of ['us', 'operator'] as const) turn(site, who);
    }
    expect(nextStep(site.world)).toMatchObject({
      kind: 'wait',
      step: 'announce',
      why: `not yet in the table of every router: ${fresh}`,
    });
  });
});

describe('with an agent of Cilium, which takes another block only when it starts', () => {
  const start: Start = {
    method: 'release',
    hasAgent: false,
    pods: 1,
    daemons: 1,
    isRegistered: true,
    hasCilium: true,
    hasCiliumAgent: true,
  };
  const settleWithout = (site: Site, absent: Turn) => {
    for (let round = 0; round < 30; round++) {
      for (const who of everybody) if (who !== absent) turn(site, who);
    }
    return nextStep(site.world);
  };

  test("while it has not started again the old block stays the node's, and others find both", () => {
    const site = new Site(start);
    expect(settleWithout(site, 'cilium')).toMatchObject({ kind: 'wait', step: 'restart-agent' });
    const phases = site.world.blocks.map(({ prefix, phase }) => `${prefix} ${phase}`);
    expect(phases).toEqual([`${old} Draining`, `${fresh} Active`]);
    expect(site.world.ciliumPodCidrs).toEqual([fresh, old]);
  });

  test('a run that may not restart it says the command, and goes on once it was done', () => {
    for (const method of ['release', 'recreate'] as const) {
      const site = new Site({ ...start, method });
      site.world = { ...site.world, may: { evict: true, restartAgent: false } };
      const next = settleWithout(site, 'cilium');
      expect(next).toMatchObject({ kind: 'wait', step: 'restart-agent' });
      expect(JSON.stringify(next)).toContain('kubectl -n kube-system delete pod cilium-x');
      site.world = { ...site.world, agentPod: { ...site.world.agentPod!, isGoing: true } };
      settle(site);
      expect(site.world.migration.phase).toBe('Moved');
    }
  });

  test('one that is no Pod is asked for by the name of its node', () => {
    const site = new Site(start);
    site.world = { ...site.world, agentPod: undefined };
    expect(JSON.stringify(settleWithout(site, 'cilium'))).toContain('on n is at 10.1.0.1');
  });

  test('an endpoint in the old block holds the move, whatever the agent says', () => {
    const site = new Site({ ...start, pods: 0, daemons: 0 });
    settleWithout(site, 'us');
    const uses = new AgentUses({
      nodes: [],
      ciliumNodes: [
        {
          ...readCiliumNode({ metadata: { name: 'n' } }),
          internalIps: ['10.2.0.1'],
          nodeIps: ['192.168.0.7'],
        },
      ],
      ciliumEndpoints: [
        {
          ...readPod({ metadata: { name: 'left' } }),
          nodeIp: '192.168.0.7',
          addresses: ['10.1.0.9'],
        },
      ],
    }).of('n');
    const world: MigrationWorld = {
      ...site.world,
      uses,
      migration: { ...site.world.migration, hasReleased: true },
      blocks: [blockOf(old, 'u1', 'Draining'), blockOf(fresh, 'u1')],
    };
    const next = nextStep(world);
    expect(next).toMatchObject({ kind: 'wait', step: 'verify' });
    expect(JSON.stringify(next)).toContain('10.1.0.9 of default/left');
  });

  test('the way back needs its restart and its evidence too, from wherever it begins', () => {
    for (const method of ['release', 'recreate'] as const) {
      for (let turns = 0; turns < 80; turns++) {
        const site = new Site({ ...start, method });
        for (let at = 0; at < turns; at++) turn(site, everybody[at % everybody.length]!);
        site.undo();
        settle(site);
        expect([site.world.migration.phase, site.served]).toEqual(['Undone', old]);
        expect([held(site), site.usersOf(fresh)]).toEqual([[old], []]);
      }
    }
  });

  test('the way back is refused when another node has the old block by now', () => {
    const site = new Site(start);
    settle(site);
    site.undo();
    site.world = { ...site.world, taken: [{ cidr: old, node: 'n4' }] };
    const next = nextStep(site.world);
    expect(next).toMatchObject({ kind: 'stuck' });
    expect(JSON.stringify(next)).toContain(`${old} is of n4`);
  });
});

test('where nobody knows who gives out addresses, a pod that came back with an old one is not evicted for ever', () => {
  const site = new Site({
    method: 'recreate',
    hasAgent: false,
    pods: 0,
    daemons: 1,
    isRegistered: true,
    hasCilium: false,
  });
  const pod = (createdMs: number) => [{ ...site.world.pods[0]!, createdMs }];
  const { uses } = site.world;
  const world = (createdMs: number): MigrationWorld => ({
    ...site.world,
    uses,
    migration: { ...site.world.migration, hasReleased: true },
    node: nodeOf('u2', { isUnschedulable: true, createdMs: 5_000 }),
    blocks: [{ ...blockOf(fresh, 'u2'), createdMs: 6_000 }],
    pods: pod(createdMs),
  });
  expect(nextStep(world(1_000))).toMatchObject({ kind: 'do', action: { do: 'evict' } });
  expect(nextStep(world(7_000))).toMatchObject({ kind: 'wait', step: 'verify' });
});

test('a pod that nobody would start again is not evicted: the move stops and names it', () => {
  const site = new Site({
    method: 'recreate',
    hasAgent: false,
    pods: 1,
    daemons: 0,
    isRegistered: true,
    hasCilium: false,
  });
  const [pod] = site.world.pods;
  const world = (isBare: boolean): MigrationWorld => ({
    ...site.world,
    node: nodeOf('u1', { isUnschedulable: true }),
    pods: [{ ...pod!, isBare }],
  });
  expect(nextStep(world(false))).toMatchObject({ kind: 'do', action: { do: 'evict' } });
  const stuck = nextStep(world(true));
  expect(stuck).toMatchObject({ kind: 'stuck', step: 'evict' });
  expect(JSON.stringify(stuck)).toContain('no controller would start x/p0 again elsewhere');
});

test('a run that may not evict says the command, and goes on once the pods are gone', () => {
  const site = new Site({
    method: 'recreate',
    hasAgent: false,
    pods: 1,
    daemons: 0,
    isRegistered: true,
    hasCilium: false,
  });
  const world = (pods: MigrationWorld['pods']): MigrationWorld => ({
    ...site.world,
    node: nodeOf('u1', { isUnschedulable: true }),
    may: { evict: false, restartAgent: true },
    pods,
  });
  const waiting = nextStep(world(site.world.pods));
  expect(waiting).toMatchObject({ kind: 'wait', step: 'evict' });
  expect(JSON.stringify(waiting)).toContain('kubectl delete pod -n x p0');
  expect(nextStep(world([]))).toMatchObject({ kind: 'do', step: 'release' });
});

test('a Node that its kubelet made anew lacks its labels: that is said, not waited for', () => {
  const site = new Site({
    method: 'recreate',
    hasAgent: false,
    pods: 0,
    daemons: 0,
    isRegistered: false,
    hasCilium: false,
  });
  const labels = { rack: '83' };
  const saved = { ...site.world.migration.saved };
  saved.node = { ...saved.node, metadata: { name: 'n', labels } };
  const world = (own: Record<string, string>): MigrationWorld => ({
    ...site.world,
    migration: { ...site.world.migration, hasReleased: true, saved },
    node: nodeOf('u2', { isUnschedulable: true, labels: own }),
    blocks: [],
  });
  expect(nextStep(world(labels))).toMatchObject({ kind: 'wait', step: 'assign' });
  const stuck = nextStep(world({}));
  expect(stuck).toMatchObject({ kind: 'stuck', step: 'assign' });
  expect(JSON.stringify(stuck)).toContain('kubectl label node n rack=83');
});
