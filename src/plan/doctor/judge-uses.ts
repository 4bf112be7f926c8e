import type { Steps } from '../../base/steps.ts';
import { cure } from '../../model/cures.ts';
import { modeOfCilium } from '../../model/modes.ts';
import type { Address } from '../../net/address.ts';
import { familyBits } from '../../net/family.ts';
import { Prefix } from '../../net/prefix.ts';
import { specialRangeProblem } from '../../net/special-ranges.ts';
import {
  AgentUses,
  type NodeUses,
  nodesAStep,
  type SharedAddress,
  usedWords,
} from '../cilium/agent-uses.ts';
import { restartAgent } from '../cilium/still-used.ts';
import { type Claimants, saysAbout } from './claimants.ts';
import { type DoctorFinding, finding, hurtsNow } from './finding.ts';
import { truthName } from './judge-records.ts';
import { agentFindings } from './judge-reports.ts';
import type { Survey, SurveyedBlock, SurveyedNode } from './survey.ts';

/**
 * What nodes use, against what they are to use: the addresses of pods and endpoints, and
 * the address that Cilium's agent took for itself out of the block that it serves from.
 * Each of the three shows the fault by itself, without an agent of ours. In steps: there may
 * be a hundred pods for each of five thousand nodes.
 */
export function* judgeUses(survey: Survey, claimants: Claimants): Steps<DoctorFinding[]> {
  if (!areBlocksUsed(survey)) return [];
  const uses = new AgentUses(survey.evidence);
  yield;
  const found: DoctorFinding[] = [];
  const astray = new Set<string>();
  let seen = 0;
  for (const [name, surveyed] of survey.nodes) {
    if (++seen % nodesAStep === 0) yield;
    const own = uses.of(name);
    for (const address of own.internal) {
      const stray = agentElsewhere(survey, claimants, surveyed, own, address);
      if (stray === undefined) continue;
      astray.add(name);
      found.push(stray);
    }
  }
  for (const [name, surveyed] of survey.nodes) {
    found.push(...podsElsewhere(surveyed, uses.of(name), astray.has(name)));
    if (++seen % nodesAStep === 0) yield;
  }
  for (const shared of yield* uses.sharedInSteps()) {
    found.push(onSeveralPods(survey, shared, astray));
  }
  return found;
}

/**
 * Whether pods get their addresses out of the blocks that are compared here. Under Calico
 * or a cloud's own network they do not, though every Node has podCIDRs.
 */
function areBlocksUsed({ truth, evidence }: Survey): boolean {
  if (evidence.cilium !== undefined && truth.record !== 'register') {
    return modeOfCilium(evidence.cilium.ipam) !== undefined;
  }
  return truth.record !== 'node';
}

function agentElsewhere(
  survey: Survey,
  claimants: Claimants,
  { node, blocks, registered }: SurveyedNode,
  uses: NodeUses,
  address: Address,
): DoctorFinding | undefined {
  const { name } = node;
  // An address that was given by a flag (local-router-ipv4) is of no block.
  if (specialRangeProblem(hostPrefix(address)) !== undefined) return undefined;
  if (survey.evidence.cilium?.ipam === 'delegated-plugin') return undefined;
  const leaving = registered.filter(({ phase }) => phase === 'Draining' || phase === 'Cooling');
  const isLeaving = (prefix: Prefix) => leaving.some((block) => block.prefix.equals(prefix));
  const family = blocks.filter(({ prefix }) => prefix.family === address.family);
  const current = family.filter(({ prefix }) => !isLeaving(prefix));
  if (current.length === 0 || current.some(({ prefix }) => prefix.contains(address))) {
    return undefined;
  }
  const holder = holderOf(survey, address);
  const known = survey.evidence.blocks.find(({ prefix }) => prefix.contains(address));
  const old = holder?.prefix ?? known?.prefix ?? hostPrefix(address);
  const pods = uses.podsIn(old);
  const isTaken = holder !== undefined && holder.node !== name;
  return finding('AgentOnOldBlock', isTaken || pods.length > 0 ? 'critical' : 'warning', {
    node: name,
    prefix: old.toString(),
    owner: isTaken ? holder.node : name,
    says: {
      ...saysAbout(claimants, old.toString()),
      CiliumInternalIP: `${address} of ${name}`,
      [`${truthName[survey.truth.record]} of ${name}`]: current.map(({ key }) => key).join(', '),
      ...(pods.length > 0 ? { Pods: usedWords(pods) } : {}),
    },
    hurts: hurtsNow(...(isTaken ? [name, holder.node].sort() : pods.length > 0 ? [name] : [])),
    fix: restartAgent(name),
  });
}

function hostPrefix(address: Address): Prefix {
  return Prefix.of(address, familyBits(address.family));
}

function holderOf({ claims, blocks }: Survey, address: Address): SurveyedBlock | undefined {
  const [claim] = claims.overlapping(hostPrefix(address));
  return claim === undefined ? undefined : blocks[claim.owner];
}

function podsElsewhere(
  { node: { name }, blocks }: SurveyedNode,
  uses: NodeUses,
  isAstray: boolean,
): DoctorFinding[] {
  const outside = uses
    .podsOutside(blocks.map(({ prefix }) => prefix))
    .filter(({ isEnding }) => !isEnding);
  if (outside.length === 0) return [];
  const { severity, fix } = agentFindings.PodsOutsideBlocks;
  const isOf = (source: string) => outside.some(({ seenIn }) => seenIn.startsWith(source));
  return [
    finding('PodsOutsideBlocks', severity, {
      node: name,
      owner: name,
      says: { [isOf('Pod') ? 'Pods' : 'CiliumEndpoints']: usedWords(outside) },
      hurts: hurtsNow(name),
      // A pod that is deleted before would get an address of the same block again.
      fix: isAstray ? restartAgent(name) : fix(name),
    }),
  ];
}

function onSeveralPods(
  survey: Survey,
  { address, pods }: SharedAddress,
  astray: ReadonlySet<string>,
): DoctorFinding {
  const holder = holderOf(survey, address)?.node;
  const wrong = pods.find(({ node }) => node !== holder) ?? pods[1]!;
  const where = pods.map(({ pod, node }) => (node === '' ? pod : `${pod} on ${node}`));
  const nodes = [...new Set(pods.map(({ node }) => node).filter((name) => name !== ''))];
  const remove = cure('DeletePods', `delete ${wrong.pod}, so that it gets another address`);
  return finding('DuplicateAddress', 'critical', {
    node: wrong.node || null,
    prefix: hostPrefix(address).toString(),
    owner: holder ?? null,
    says: { [wrong.seenIn === 'CiliumEndpoint' ? 'CiliumEndpoints' : 'Pods']: where.join(', ') },
    hurts: hurtsNow(...nodes.sort()),
    fix: astray.has(wrong.node) ? restartAgent(wrong.node) : remove,
  });
}
