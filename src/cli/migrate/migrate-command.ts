import type { Command } from 'commander';
import type { Terminal } from '../terminal.ts';
import { addIpamFlags } from '../view/ipam-flags.ts';
import { addViewFlags } from '../view/view-flags.ts';
import { addMigrateApply } from './migrate-apply.ts';
import { addPools, type MigrateFlags } from './migrate-flags.ts';
import { printPlan } from './migrate-plan.ts';
import { printStatus } from './migrate-status.ts';

const planExamples = `
Examples:
  From what this cluster has (kube-controller-manager's podCIDRs, Cilium's, or other pools)
  to pools that are not applied yet:
    $ cadastre migrate plan --pools pools.yaml

  The same on saved objects:
    $ kubectl get nodes,ciliumnodes,nodeblocks,ippools -o json > cluster.json
    $ cadastre migrate plan --from cluster.json --from pools.yaml -o json

Exit code: 0 if every node can be served, 1 if not.`;

const statusExamples = `
Examples:
  $ cadastre migrate status
  $ cadastre migrate status node1 -o json`;

const groupExamples = `
Examples:
  $ cadastre migrate plan --pools pools.yaml
  $ cadastre migrate apply node1
  $ cadastre migrate status
  $ cadastre migrate undo node1`;

export function registerMigrate(program: Command, terminal: Terminal): void {
  const migrate = program
    .command('migrate')
    .summary("from today's allocations to pools, node by node")
    .description(
      'Moves a running cluster to pools without stopping it: what fits is adopted as it is, and every other node moves by itself, in steps that can be undone.',
    )
    .addHelpText('after', groupExamples);
  const plan = migrate
    .command('plan')
    .summary('what is adopted, who must move, in which order, and whom each step affects')
    .description(
      'Says what is adopted as it is, which nodes must move and in which order, and for each step what it does, whom it affects and how it is undone. Changes nothing.',
    );
  addPools(addIpamFlags(addViewFlags(plan)))
    .addHelpText('after', planExamples)
    .action((flags: MigrateFlags) => printPlan(flags, terminal));
  addMigrateApply(migrate, terminal);
  const status = migrate
    .command('status')
    .argument('[node...]', 'only these')
    .summary('which nodes have moved, are on their way, or are left')
    .description('Lists the NodeMigrations, and who is still to move.');
  addPools(addIpamFlags(addViewFlags(status)))
    .addHelpText('after', statusExamples)
    .action((names: string[], flags: MigrateFlags) => printStatus(names, flags, terminal));
}
