import { operatorStep } from '../../model/cilium-support.ts';
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
      step: 'cilium-operator-ipam',
      does: `${operatorStep}; so only one allocator is left; let the operator project with --project ciliumnode`,
      undo: 'set its --ipam to what it was; CiliumNodes still say the same',
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
export function moveSteps(move: NodeMove): PlannedStep[] {
  const { node, from, to, method, hasCiliumAgent } = move;
  const old = from.join(', ');
  const fresh = to.map(({ cidr }) => cidr).join(', ');
  const back = `cadastre migrate undo ${node}`;
  const assign: PlannedStep = {
    step: 'assign',
    does: `the operator assigns ${fresh} of pool ${[...new Set(to.map(({ pool }) => pool))].join(', ')}`,
    undo: back,
    hurts: nobody,
  };
  const announce: PlannedStep = {
    step: 'announce',
    does: `${fresh} is announced to the routers`,
    undo: back,
    hurts: nobody,
  };
  const project: PlannedStep = {
    step: 'project',
    does: hasCiliumAgent
      ? `its records name ${fresh}, which its agent takes when it starts`
      : 'no record names the old block any more',
    undo: back,
    hurts: nobody,
  };
  const drain: PlannedStep = {
    step: 'release',
    does: `the NodeBlocks of ${old} drain: they stay with ${node} until nobody uses them, and then enter cool-down`,
    undo: back,
    hurts: nobody,
  };
  if (method === 'release' && !hasCiliumAgent)
    return [drain, assign, rolled(move), project, announce];
  const steps = [...emptied(move), method === 'release' ? drain : recreated(move), assign, project];
  if (hasCiliumAgent) {
    steps.push(
      {
        step: 'restart-agent',
        does: `the Pod of the DaemonSet cilium on ${node} is deleted: its agent takes another block only when it starts (--no-restart-cilium-agent: the move waits until you have done it)`,
        undo: back,
        hurts: `pods of DaemonSets on ${node} lose their network until they are started again`,
      },
      {
        step: 'verify',
        does: `the agent's CiliumInternalIP lies in ${fresh}; pods that still have an address of ${old} are evicted; no pod and no CiliumEndpoint has one any more`,
        undo: back,
        hurts: `pods of DaemonSets on ${node} are started again`,
      },
    );
  }
  const uncordon = {
    step: 'uncordon',
    does: `${node} takes pods again`,
    undo: back,
    hurts: nobody,
  };
  return [...steps, announce, uncordon];
}

const podsOf = ({ blast }: NodeMove) =>
  blast.pods === undefined ? 'its pods' : `${blast.pods} pods`;

/** Both blocks are served: pods go one after the other, and may come back to the node. */
function rolled(move: NodeMove): PlannedStep {
  const pods = podsOf(move);
  return {
    step: 'evict',
    does: `${pods} in ${move.from.join(', ')} are started again, as their PodDisruptionBudgets allow; new pods take the new block (--no-evict: the move waits until you have started them again)`,
    undo: 'nothing to undo',
    hurts: `${pods} are started again; nobody loses a route`,
  };
}

function emptied(move: NodeMove): PlannedStep[] {
  const { node, from, blast } = move;
  const old = from.join(', ');
  const pods = podsOf(move);
  const others = blast.others.map(
    ({ node: other, cidr, record }) =>
      `${other}: ${record} of ${node} names its ${cidr}; where routers learn from that record, it loses that route`,
  );
  return [
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
}

function recreated({ node, from, hasCiliumAgent }: NodeMove): PlannedStep {
  const old = from.join(', ');
  return {
    step: 'recreate',
    does: `the Node is deleted (fenced by its uid), its blocks enter cool-down, and it is re-created without ${old}: nothing else can change Node.spec.podCIDRs`,
    undo: `cadastre migrate undo ${node}: the Node is re-created as it was, saved in NodeMigration ${node}`,
    hurts: hasCiliumAgent
      ? `pods of DaemonSets on ${node}: other nodes and routers have no route to ${old} from here on`
      : `pods of DaemonSets on ${node} that have an address of ${old}`,
  };
}
