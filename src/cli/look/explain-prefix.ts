import { unmetRequirements } from '../../model/label-selector.ts';
import { nodeNetworks } from '../../model/network.ts';
import type { Block } from '../../model/node-block.ts';
import type { Address } from '../../net/address.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import type { AllocationPlan } from '../../plan/blocks/allocation-plan.ts';
import { sourceNames } from '../../plan/blocks/holdings.ts';
import { holderOf } from '../../plan/find/address-holder.ts';
import type { ClusterIndex } from '../../plan/find/cluster-index.ts';
import { selectingCandidates } from '../../plan/pools/pool-candidates.ts';
import { prefixClaims } from '../../plan/pools/prefix-claims.ts';
import { whyPool } from '../../plan/pools/why-pool.ts';
import type { Section } from '../sections.ts';
import type { Look } from '../view/look.ts';
import { type BlockDescription, describeBlock } from './blocks-command.ts';
import { historyAt, historyLines } from './explain-history.ts';
import { blockLine } from './explain-node.ts';
import type { Explanation } from './explanation.ts';

/** Who holds a CIDR, or the block around an address, which records name it, and who gets it next. */
export function explainPrefix(
  look: Look,
  prefix: Prefix,
  address: Address | undefined,
  plan: AllocationPlan,
  index: ClusterIndex,
): Explanation {
  const holder = address === undefined ? undefined : holderOf(index, address);
  const claims = prefixClaims(look.register, prefix);
  const blocks = claims.blocks.map((block) => describeBlock(look, block));
  const records = claims.records.map(({ node, cidr, source }) => ({
    node,
    cidr: cidr.toString(),
    source: sourceNames[source],
  }));
  const pools = claims.pools.map(({ pool, cidr }) => ({ pool, cidr: cidr.toString() }));
  const reserved = claims.reserved.map(({ pool, cidr }) => ({ pool, cidr: cidr.toString() }));
  const networks = networksAt(look, prefix);
  const planned = plan.nodes.flatMap(({ name, blocks: all }) =>
    all
      .filter(({ cidr }) => parsePrefix(cidr)?.overlaps(prefix))
      .map(({ cidr, pool, action }) => ({ node: name, cidr, pool, action })),
  );
  const next = planned.filter(({ action }) => action !== 'keep');
  // Where nothing is registered because nothing is allocated, records are the truth.
  const kept = planned.filter(({ action, pool }) => action === 'keep' && pool === '');
  const concerned = new Set(records.map(({ node }) => node));
  const findings = plan.findings.filter(
    ({ cidr, nodes }) =>
      nodes.some((name) => concerned.has(name)) ||
      cidr.split(', ').some((one) => parsePrefix(one)?.overlaps(prefix)),
  );
  const history = historyAt(look.state.history, prefix);
  const why = whyHeld(look, claims.blocks);
  const sections: Section[] = [
    { title: 'Pod', lines: holder?.pod ? [[holder.pod]] : [] },
    { title: 'Service', lines: holder?.service ? [[holder.service]] : [] },
    { title: 'Holder', lines: shortened(holderLines(blocks, kept)) },
    { title: 'Why', lines: shortened(why.map(({ node, pool, words }) => [node, pool, words])) },
    {
      title: 'Records',
      lines: shortened(records.map(({ node, cidr, source }) => [cidr, node, source])),
    },
    { title: 'Pools', lines: pools.map(({ pool, cidr }) => [pool, cidr]) },
    { title: 'Reserved', lines: reserved.map(({ pool, cidr }) => [cidr, `by pool ${pool}`]) },
    { title: 'Networks', lines: networks.map(({ name, cidr }) => [cidr, name]) },
    {
      title: 'Next',
      lines: shortened(
        next.map(({ node, cidr, pool, action }) => [
          `${node} ${action === 'adopt' ? 'takes over' : 'gets'} ${cidr}`,
          `pool ${pool}`,
        ]),
      ).concat(claims.isFree && next.length === 0 ? [[freeWords(pools, networks)]] : []),
    },
    { title: 'History', lines: historyLines(history) },
    {
      title: 'Findings',
      lines: shortened(findings.map(({ reason, detail }) => [reason, detail])),
    },
  ];
  const name = address === undefined ? prefix.toString() : address.toString();
  const kind = address === undefined ? 'CIDR' : 'Address';
  return {
    subject: { kind, name },
    facts: {
      ...(holder?.pod ? { pod: holder.pod } : {}),
      ...(holder?.service ? { service: holder.service } : {}),
      blocks,
      records,
      pools,
      reserved,
      networks,
      free: claims.isFree,
      next,
      why,
      history,
      findings,
    },
    heading: `${kind} ${name}`,
    sections,
    names: blocks.map((block) => `nodeblock.cadastre.dev/${block.name}`),
  };
}

function holderLines(
  blocks: readonly BlockDescription[],
  kept: ReadonlyArray<{ node: string; cidr: string }>,
): string[][] {
  if (blocks.length === 0 && kept.length === 0) return [['nobody']];
  return [
    ...kept.map(({ node, cidr }) => [cidr, node, 'by its records']),
    ...blocks.map((block) => {
      const [cidr = '', words = ''] = blockLine(block);
      const gone = block.nodeExists || block.node === '' ? '' : ' (no such node)';
      return [cidr, `${block.node || 'nobody'}${gone}`, words];
    }),
  ];
}

/** What the holder's labels and the pool's selector say to each other now. */
function whyHeld({ register }: Look, blocks: readonly Block[]) {
  const candidatesFor = selectingCandidates(register);
  return blocks.flatMap((block) => {
    const node = register.nodes.get(block.nodeName);
    if (node === undefined) return [];
    const home = register.poolSet.homeOf(block)?.name ?? block.pool;
    const pool = register.poolSet.get(home);
    const unmet = unmetRequirements(pool?.selector, node.labels);
    const words =
      pool === undefined
        ? `there is no pool ${home} now`
        : unmet.length === 0
          ? whyPool(candidatesFor(node), home)
          : `does not select it: ${unmet.join('; ')}`;
    return [{ node: block.nodeName, cidr: block.prefix.toString(), pool: home, words }];
  });
}

function freeWords(pools: readonly unknown[], networks: readonly unknown[]): string {
  if (networks.length > 0) return 'it is not ours to give';
  return pools.length > 0 ? 'it is free' : 'it lies in no pool';
}

/** Node addresses and Service networks in it or around it: none of them may be cut into. */
function networksAt({ state }: Look, prefix: Prefix) {
  const nodes = state.nodes.flatMap((node) =>
    nodeNetworks(node).map((one) => ({ ...one, name: `address of ${one.name}` })),
  );
  return [...state.serviceNetworks, ...nodes]
    .filter((network) => network.prefix.overlaps(prefix))
    .map(({ name, prefix: cidr }) => ({ name, cidr: cidr.toString() }));
}

const mostLines = 20;

/** A whole pool can be asked for; nobody reads thousands of lines, and -o json has them all. */
function shortened(lines: string[][]): string[][] {
  if (lines.length <= mostLines) return lines;
  return [...lines.slice(0, mostLines), [`and ${lines.length - mostLines} more (-o json has all)`]];
}
