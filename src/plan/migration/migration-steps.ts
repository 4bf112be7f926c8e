import type { MigrationPlan, NodeMove } from './migration-plan.ts';

/** One thing to do: what it does, how it is undone, and whom it affects. */
export interface PlannedStep {
  step: string;
  does: string;
  undo: string;
  /** Who notices. */
  hurts: string;
}

const nobody = 'nobody';

/** What comes before the first node moves. After each of these the cluster may stay as it is for ever. */
export function preparation(plan: MigrationPlan, mode: string): PlannedStep[] {
  const steps: PlannedStep[] = [
    {
      step: 'look',
      does: `run cadastre operator --ipam ${mode} --shadow, and compare what it would do with this plan`,
      undo: 'stop it',
      hurts: nobody,
    },
  ];
  if (plan.from.includes('spec')) {
    steps.push({
      step: 'stop-kube-controller-manager',
      does: 'set --allocate-node-cidrs=false on kube-controller-manager, so that only one allocator is left',
      undo: 'set it to true again; Node.spec.podCIDRs are still there',
      hurts: 'nodes that join before the operator runs: they wait for a block',
    });
  }
  if (plan.from.includes('ciliumnode')) {
    steps.push({
      step: 'stop-cilium-operator',
      does: "stop Cilium's own allocator (scale cilium-operator to 0, or set ipam to delegated-plugin), so that only one is left; let the operator project with --project ciliumnode",
      undo: 'scale cilium-operator up again; CiliumNodes still say the same',
      hurts: 'nodes that join before the operator runs: they wait for a block',
    });
  }
  const { length: adopting } = plan.adopt;
  const { length: fresh } = plan.fresh;
  steps.push({
    step: 'start-operator',
    does: `run cadastre operator --ipam ${mode}: it adopts the blocks of ${adopting} ${adopting === 1 ? 'node' : 'nodes'} as they are, and assigns blocks to ${fresh} that have none`,
    undo: 'stop it, and delete the NodeBlocks; other records still say the same',
    hurts: nobody,
  });
  return steps;
}

/** The steps of one node's move, as `migrate apply` takes them. */
export function moveSteps({ node, from, to, method, blast }: NodeMove): PlannedStep[] {
  const old = from.join(', ');
  const fresh = to.map(({ cidr }) => cidr).join(', ');
  const pods = blast.pods === undefined ? 'its pods' : `${blast.pods} pods`;
  const back = `cadastre migrate undo ${node}`;
  const others = blast.others.map(
    ({ node: other, cidr, record }) =>
      `${other}: ${record} of ${node} names its ${cidr}; where routers learn from that record, it loses that route`,
  );
  const steps: PlannedStep[] = [
    { step: 'cordon', does: `${node} takes no new pods`, undo: 'uncordon', hurts: nobody },
    {
      step: 'evict',
      does: `${pods} in ${old} go to other nodes, as their PodDisruptionBudgets allow`,
      undo: 'uncordon; pods may come back',
      hurts: `${pods} are started again elsewhere`,
    },
    {
      step: 'withdraw',
      does: `its agent, if it has one, withdraws ${old} from the routers`,
      undo: 'the annotation cadastre.dev/drain is removed',
      hurts: others.length === 0 ? `nobody: ${old} is empty` : others.join('; '),
    },
  ];
  if (method === 'release') {
    steps.push({
      step: 'release',
      does: `the NodeBlocks of ${old} drain; the agent releases them; they enter cool-down`,
      undo: back,
      hurts: 'pods of DaemonSets wait for an address until the new block is there',
    });
  } else {
    steps.push({
      step: 'recreate',
      does: `the Node is deleted (fenced by its uid), its blocks enter cool-down, and it is re-created without ${old}: nothing else can change Node.spec.podCIDRs`,
      undo: `${back}: the Node is re-created as it was, saved in NodeMigration ${node}`,
      hurts: `pods of DaemonSets on ${node}, its agents among them, are started again`,
    });
  }
  steps.push(
    {
      step: 'assign',
      does: `the operator assigns ${fresh} of pool ${[...new Set(to.map(({ pool }) => pool))].join(', ')}`,
      undo: back,
      hurts: nobody,
    },
    { step: 'project', does: 'no record names the old block any more', undo: back, hurts: nobody },
    { step: 'announce', does: `${fresh} is announced to the routers`, undo: back, hurts: nobody },
    { step: 'uncordon', does: `${node} takes pods again`, undo: back, hurts: nobody },
  );
  return steps;
}
