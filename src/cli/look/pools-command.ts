import type { Command } from 'commander';
import type { CidrUsage, Pool } from '../../model/ip-pool.ts';
import { apiVersion } from '../../model/keys.ts';
import { formatSelector, type LabelSelector, selects } from '../../model/label-selector.ts';
import type { Condition } from '../../model/object.ts';
import { type Family, families } from '../../net/family.ts';
import { desiredPoolStatus } from '../../plan/pools/pool-status.ts';
import { countText, timeText } from '../numbers.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { addLookFlags, type Look, type LookFlagValues, lookAt, pickNamed } from '../view/look.ts';

const examples = `
Examples:
  How full the pools are:
    $ cadastre pools

  What an IPPool that is not applied yet would look like among the nodes of a saved cluster:
    $ cadastre pools rack-83 --from cluster.json --from pools.yaml -o wide`;

export function registerPools(program: Command, terminal: Terminal): void {
  const command = program
    .command('pools')
    .argument('[name...]', 'only these pools')
    .summary('how full each pool is, and whether it serves')
    .description(
      'Lists the pools with their usage, counted from the blocks themselves and not from a status that somebody wrote.',
    );
  addLookFlags(command)
    .addHelpText('after', examples)
    .action(async (names: string[], flags: LookFlagValues) => {
      const look = await lookAt(flags, terminal);
      const pools = pickNamed(look.register.poolSet.pools, names, 'pool', byName)
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .map((pool) => describePool(look, pool));
      if (pools.length === 0) terminal.say('There are no pools.');
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'PoolUsage', pools },
        names: pools.map((pool) => `ippool.cadastre.dev/${pool.name}`),
        table: (columns, isWide) => (pools.length === 0 ? '' : poolTable(pools, columns, isWide)),
      });
    });
}

const byName = (pool: Pool, name: string) => pool.name === name;

export interface PoolDescription {
  name: string;
  cidrs: CidrUsage[];
  blockSize: Partial<Record<Family, number>>;
  nodeSelector: LabelSelector;
  priority: number;
  reserved: string[];
  disabled: boolean;
  cooldownSeconds: number;
  capacity: number;
  assigned: number;
  free: number;
  cooling: number;
  /** Rested, but nobody says that the old node does not use them. */
  awaitingRelease: number;
  /** How many nodes the selector matches. */
  selectedNodes: number;
  ready: boolean;
  reason: string;
  detail: string;
}

export function describePool({ register, state, nowMs }: Look, pool: Pool): PoolDescription {
  const status = desiredPoolStatus(register, pool, timeText(nowMs));
  const ready = status.conditions?.find(({ type }) => type === 'Ready') as Condition;
  return {
    name: pool.name,
    cidrs: status.cidrs ?? [],
    blockSize: pool.blockSize,
    nodeSelector: pool.selector ?? {},
    priority: pool.priority,
    reserved: pool.reserved.map(String),
    disabled: pool.disabled,
    cooldownSeconds: pool.cooldownSeconds,
    capacity: status.capacity ?? 0,
    assigned: status.assigned ?? 0,
    free: status.free ?? 0,
    cooling: status.cooling ?? 0,
    awaitingRelease: status.awaitingRelease ?? 0,
    selectedNodes: state.nodes.filter((node) => selects(pool.selector, node.labels)).length,
    ready: ready.status === 'True',
    reason: ready.reason,
    detail: ready.message,
  };
}

function poolTable(pools: readonly PoolDescription[], columns: number, isWide: boolean): string {
  const headings = ['NAME', 'CIDRS', 'BLOCK', 'ASSIGNED', 'FREE', 'CAPACITY'];
  const wide = isWide ? ['COOLING', 'AWAITING', 'PRIORITY', 'NODES', 'SELECTOR', 'RESERVED'] : [];
  const rows = pools.flatMap((pool) => {
    const [first, ...more] = pool.cidrs.map(({ cidr }) => cidr);
    const sizes = families.flatMap((family) => pool.blockSize[family] ?? []);
    const extra = [
      countText(pool.cooling),
      countText(pool.awaitingRelease),
      String(pool.priority),
      String(pool.selectedNodes),
      formatSelector(pool.nodeSelector) || 'every node',
      pool.reserved.join(',') || '-',
    ];
    const head = [
      pool.name,
      first ?? '-',
      sizes.map((size) => `/${size}`).join(' '),
      countText(pool.assigned),
      countText(pool.free),
      countText(pool.capacity),
      ...(isWide ? extra : []),
      pool.ready ? pool.reason : `${pool.reason}: ${pool.detail}`,
    ];
    return [head, ...more.map((cidr) => ['', cidr])];
  });
  return renderTable([...headings, ...wide, 'STATE'], rows, columns);
}
