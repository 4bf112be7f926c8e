import { addToGroup } from '../../base/add-to-group.ts';
import { listNames, plural } from '../../base/count-text.ts';
import { type Cure, cure } from '../../model/cures.ts';
import { defaultCooldownSeconds } from '../../model/ip-pool.ts';
import { type NamedNetwork, nodeNetworks } from '../../model/network.ts';
import type { Block } from '../../model/node-block.ts';
import type { Reason } from '../../model/reasons.ts';
import { parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { isAwaitingRelease, isReleasedByTime } from '../blocks/block-life.ts';
import { isHolder } from '../blocks/truth.ts';
import { releaseCommand } from '../blocks/witness.ts';
import { PoolNetworks } from '../pools/pool-networks.ts';
import { type Claimants, saysAbout } from './claimants.ts';
import { type DoctorFinding, finding, hurtsNow } from './finding.ts';
import type { Survey, SurveyedBlock } from './survey.ts';

/** What is wrong with the blocks themselves, whatever routers say. */
export function judgeBlocks(survey: Survey, claimants: Claimants): DoctorFinding[] {
  return [
    ...clashes(survey, claimants),
    ...outsidePools(survey, claimants),
    ...onNetworks(survey, claimants),
    ...stranded(survey, claimants),
    ...unreleased(survey, claimants),
    ...leaked(survey),
  ];
}

function clashes(survey: Survey, claimants: Claimants): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  for (const [key, owners] of survey.owners) {
    const names = owners.map(({ node }) => node);
    if (owners.length > 1) {
      const fix = cure(
        'MoveToAnotherBlock',
        `move all but one of ${names.join(', ')} to another block`,
      );
      const [owner = ''] = names;
      const about = { node: names[1] ?? '', prefix: key, owner };
      const says = saysAbout(claimants, key);
      const hurts = hurtsNow(...names);
      found.push(finding('DuplicateBlock', 'critical', { ...about, says, hurts, fix }));
    }
    const [block] = owners as [SurveyedBlock];
    for (const { owner: at } of survey.claims.overlapping(block.prefix)) {
      const inner = survey.blocks[at]!;
      // Reported once, for the smaller one; within a node it is untidy, but hurts nobody.
      if (inner.key === key || !block.prefix.contains(inner.prefix)) continue;
      if (inner.node === block.node) continue;
      found.push(
        finding('OverlappingBlocks', 'critical', {
          node: inner.node,
          prefix: inner.key,
          owner: inner.node,
          says: { ...saysAbout(claimants, inner.key), overlaps: `${key} of ${block.node}` },
          hurts: hurtsNow(...[inner.node, block.node].sort()),
          fix: cure('MoveToAnotherBlock', `move ${inner.node} or ${block.node} to another block`),
        }),
      );
    }
  }
  return found;
}

function outsidePools(survey: Survey, claimants: Claimants): DoctorFinding[] {
  const { poolSpace, pools } = survey;
  if (poolSpace === undefined) return [];
  const names = listNames(pools.map((pool) => `${pool.name} ${pool.cidrs.join(', ')}`));
  return survey.blocks
    .filter(({ prefix }) => pools.some((pool) => pool.blockSize[prefix.family] !== undefined))
    .filter(({ prefix }) => !poolSpace.covers(prefix))
    .map(({ key, node }) =>
      finding('OutsidePools', 'warning', {
        node,
        prefix: key,
        owner: node,
        says: { ...saysAbout(claimants, key), pools: names },
        fix: cure(
          'AddCidrAround',
          `add a CIDR around ${key} to a pool, or move ${node} to a block of one`,
        ),
      }),
    );
}

function onNetworks(survey: Survey, claimants: Claimants): DoctorFinding[] {
  const { nodes, evidence, claims, blocks, pools } = survey;
  const { serviceNetworks } = evidence;
  const networks: Array<NamedNetwork & { node?: string }> = [...serviceNetworks];
  for (const [name, { node }] of nodes) {
    for (const network of nodeNetworks(node)) networks.push({ ...network, node: name });
  }
  const found: DoctorFinding[] = [];
  const reported = new Set<string>();
  for (const { name, prefix, node } of networks) {
    for (const { owner: at } of claims.overlapping(prefix)) {
      const block = blocks[at]!;
      const id = `${block.key} ${node === undefined ? name : 'nodes'}`;
      if (reported.has(id)) continue;
      reported.add(id);
      const hurt = [...new Set([block.node, ...(node === undefined ? [] : [node])])].sort();
      found.push(
        finding('OverlapsNetwork', 'critical', {
          node: block.node,
          prefix: block.key,
          owner: block.node,
          says: { ...saysAbout(claimants, block.key), network: `${prefix} of ${name}` },
          hurts: hurtsNow(...hurt),
          fix: cure(
            'ReserveNetwork',
            `reserve ${prefix} in the pool, and move ${block.node} to another block`,
          ),
        }),
      );
    }
  }
  // A pool that lies over a network is trouble before it has cut a block there.
  const ofBlocks = [...found];
  const poolNetworks = new PoolNetworks(serviceNetworks);
  for (const pool of pools) {
    const problem = poolNetworks.problemOf(pool);
    // Where a block of it lies there already, that is reported, and worse.
    if (problem === undefined) continue;
    const isReported = ofBlocks.some(({ prefix }) =>
      pool.cidrs.some((cidr) => cidr.contains(parsePrefix(prefix!)!)),
    );
    if (isReported) continue;
    found.push(
      finding('OverlapsNetwork', 'warning', {
        prefix: pool.cidrs.join(', '),
        says: { pool: pool.name, network: problem.detail },
        fix: cure('ChangePool', `change the pool's cidrs, or name the part in its reserved`),
      }),
    );
  }
  return found;
}

/** Blocks that nobody may use yet, and blocks that somebody may use although nobody said so. */
function unreleased(survey: Survey, claimants: Claimants): DoctorFinding[] {
  return survey.evidence.blocks.flatMap((block) => {
    const { nodeName: node, released, releasable } = block;
    const prefix = block.prefix.toString();
    const says = saysAbout(claimants, prefix);
    if (isReleasedByTime(block)) {
      const fix = cure(
        'ReleaseBlock',
        `see that the machine of ${node} is off before another node needs ${prefix}; then ${releaseCommand(block)}`,
      );
      const why = { released: released?.detail ?? 'by time alone' };
      return finding('ReleasedByTime', 'warning', { node, prefix, says: { ...says, ...why }, fix });
    }
    // As the operator judged it: it has read the policy, and asked whether it is in force.
    if (releasable?.reason === ('ReportNotAttributed' satisfies Reason) && released === undefined) {
      const missing = { missing: releasable.message };
      const fix = cure(
        'BindAgents',
        `kubectl apply -f deploy/agent.yaml, so that each agent is bound to its own node; or, if the machine of ${node} is off: ${releaseCommand(block)}`,
      );
      return finding('ReportNotAttributed', 'warning', {
        node,
        prefix,
        says: { ...says, ...missing },
        fix,
      });
    }
    if (!isAwaitingRelease(block, cooldownOf(survey, block))) return [];
    const missing = releasable?.message ?? 'no operator has looked yet';
    const fix = cure('ReleaseBlock', `if the machine of ${node} is off: ${releaseCommand(block)}`);
    return finding('AwaitingWitness', 'info', { node, prefix, says: { ...says, missing }, fix });
  });
}

function cooldownOf(survey: Survey, block: Block): number {
  const pool = survey.pools.find(({ name }) => name === block.pool);
  return pool?.cooldownSeconds ?? defaultCooldownSeconds;
}

/** Blocks that are kept for a node that does not exist. A cool-down under way is in order. */
function stranded(survey: Survey, claimants: Claimants): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const { nodes, evidence } = survey;
  const report = (prefix: string, node: string, fix: Cure) => {
    const says = saysAbout(claimants, prefix);
    found.push(finding('StrandedBlock', 'info', { node, prefix, says, fix }));
  };
  for (const block of evidence.blocks) {
    const { phase, nodeName, prefix, coolingSinceMs } = block;
    if (phase === 'Guard') continue;
    if (phase === 'Cooling') {
      const cooldownSeconds = cooldownOf(survey, block);
      if (isAwaitingRelease(block, cooldownSeconds) || isReleasedByTime(block)) continue;
      // By the clock of whoever wrote it: good enough to say that nobody counts.
      const dueMs = coolingSinceMs + cooldownSeconds * 1000 + graceMs;
      if (coolingSinceMs > 0 && evidence.nowMs > dueMs) {
        const words = 'its cool-down should be over: see that an operator runs';
        report(`${prefix}`, nodeName, cure('RunOperator', words));
      }
      continue;
    }
    const node = nodes.get(nodeName)?.node;
    if (survey.down.has(nodeName) || (node !== undefined && isHolder(node, block))) continue;
    const words = 'the operator frees it after a cool-down: see that one runs';
    report(`${prefix}`, nodeName, cure('RunOperator', words));
  }
  for (const { name, podCidrs } of evidence.ciliumNodes) {
    if (nodes.has(name) || survey.down.has(name)) continue;
    for (const text of podCidrs) {
      const prefix = parsePrefix(text);
      if (prefix === undefined) continue;
      report(`${prefix}`, name, cure('DeleteCiliumNode', `kubectl delete ciliumnode ${name}`));
    }
  }
  return found;
}

/** An operator that was away may be late by this much. */
const graceMs = 600_000;

function leaked(survey: Survey): DoctorFinding[] {
  const { pods, isPodListApart } = survey.evidence;
  if (pods === undefined || isPodListApart) return [];
  const found: DoctorFinding[] = [];
  const byNode = new Map<string, string[]>();
  for (const { node, addresses } of pods) {
    for (const address of addresses) addToGroup(byNode, node, address);
  }
  for (const [name, { report }] of survey.nodes) {
    const live = (byNode.get(name) ?? []).flatMap((text) => parseAddress(text) ?? []);
    for (const { cidr, pods: held } of report?.status?.blocks ?? []) {
      const prefix = parsePrefix(cidr);
      if (prefix === undefined) continue;
      const seen = live.filter((address) => prefix.contains(address)).length;
      if (held <= seen) continue;
      found.push(
        finding('LeakedAddress', 'info', {
          node: name,
          prefix: prefix.toString(),
          owner: name,
          says: { agent: plural(held, 'address', 'addresses'), Pods: `${seen}` },
          fix: cure(
            'ReleaseAddresses',
            `on ${name}: cadastre ipam show lists the owners; release those that are gone`,
          ),
        }),
      );
    }
  }
  return found;
}
