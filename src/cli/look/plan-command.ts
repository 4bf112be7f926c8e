import type { Command } from 'commander';
import { plural } from '../../base/count-text.ts';
import type { AllocationPlan } from '../../plan/blocks/allocation-plan.ts';
import { planOf } from '../../plan/blocks/plan-of.ts';
import type { Register } from '../../plan/blocks/register.ts';
import { registerOf } from '../../plan/blocks/register-of.ts';
import { countText } from '../numbers.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { addIpamFlags, type IpamFlagValues } from '../view/ipam-flags.ts';
import { readLook } from '../view/look.ts';
import { addViewFlags, type ViewFlagValues } from '../view/view-flags.ts';
import { whyBlock } from './why.ts';

const examples = `
Examples:
  Who would get which block in this cluster, with the IPPools that are there:
    $ cadastre plan

  The same with pools that are not applied yet, on saved objects:
    $ kubectl get nodes,ciliumnodes -o json > cluster.json
    $ cadastre plan --from cluster.json --from pools.yaml

  One pool for all nodes, from flags, as Cilium's cluster-pool mode has it:
    $ cadastre plan --ipam cluster-pool --cluster-pool-ipv4-cidr 10.5.112.0/21

  The same with what Cilium's Helm values say:
    $ cadastre plan --cilium-config cilium-values.yaml

Exit code: 0 if every node is served, 1 if not.`;

export function registerPlan(program: Command, terminal: Terminal): void {
  const command = program
    .command('plan')
    .summary('dry run: who would get which block, and why')
    .description(
      'Says what an operator that starts now would do: which blocks nodes keep, which are taken over, which are cut, who gets none and why. Changes nothing.',
    );
  addIpamFlags(addViewFlags(command))
    .addHelpText('after', examples)
    .action(async (flags: ViewFlagValues & IpamFlagValues) => {
      const { settings, state } = await readLook(flags, terminal, ['ciliumPodPools']);
      const register = registerOf(state, settings);
      const plan = planOf(register, state, settings.rules);
      await printAnswer(terminal, flags.output, {
        data: asPublished(plan),
        names: plan.nodes.map((node) => `node/${node.name}`),
        table: (columns) => planTable(plan, register, columns),
      });
      const { allocates, name } = settings.mode;
      if (!allocates) {
        terminal.say(`Mode ${name} allocates nothing: these are the blocks that records name.`);
      }
      terminal.say(closingWords(plan));
      if (plan.nodes.some((node) => node.refused.length > 0)) terminal.exitCode = 1;
    });
}

/** The plan as documented, field by field: what else judgement knows is not a promise. */
export function asPublished(plan: AllocationPlan) {
  return {
    apiVersion: plan.apiVersion,
    kind: plan.kind,
    nodes: plan.nodes.map(({ name, blocks, refused }) => ({ name, blocks, refused })),
    pools: plan.pools.map(({ name, capacity, assigned, free }) => ({
      name,
      capacity,
      assigned,
      free,
    })),
    findings: plan.findings.map(({ reason, nodes, cidr, detail }) => ({
      reason,
      nodes,
      cidr,
      detail,
    })),
  };
}

function planTable(plan: AllocationPlan, register: Register, columns: number): string {
  const parts: string[] = [];
  const why = whyBlock(register);
  if (plan.nodes.length > 0) {
    const rows = plan.nodes.flatMap(({ name, blocks, refused }) => {
      const lines = [
        ...blocks.map((block) => [block.cidr, block.pool || '-', block.action, why(name, block)]),
        ...refused.map(({ reason, detail }) => ['-', '-', 'refused', `${reason}: ${detail}`]),
      ];
      return lines.map((line, at) => [at === 0 ? name : '', ...line]);
    });
    parts.push(renderTable(['NODE', 'BLOCKS', 'POOL', 'ACTION', 'WHY'], rows, columns));
  }
  if (plan.pools.length > 0) {
    const rows = plan.pools.map((pool) => [
      pool.name,
      countText(pool.capacity),
      countText(pool.assigned),
      countText(pool.free),
      countText(pool.cooling),
    ]);
    parts.push(renderTable(['POOL', 'CAPACITY', 'ASSIGNED', 'FREE', 'COOLING'], rows, columns));
  }
  if (plan.findings.length > 0) {
    const rows = plan.findings.map(({ reason, detail }) => [reason, detail]);
    parts.push(renderTable(['FINDING', 'WHAT'], rows, columns));
  }
  return parts.join('\n');
}

function closingWords(plan: AllocationPlan): string {
  const { nodes, findings } = plan;
  const unserved = nodes.filter((node) => node.refused.length > 0).length;
  const served = `${nodes.length - unserved} of ${plural(nodes.length, 'node')} served`;
  return `${served}, ${plural(findings.length, 'finding')}; nothing was changed.`;
}
