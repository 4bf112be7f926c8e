import { type Command, Option } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import type { StatedSettings } from '../../model/cluster-state.ts';
import type { HoldingSource } from '../../model/holding-source.ts';
import {
  defaultCooldownSeconds,
  type Pool,
  releaseByTimeDefaultSeconds,
} from '../../model/ip-pool.ts';
import { comparedIn, defaultMode, type Mode, modeOfFlag, ourModes } from '../../model/modes.ts';
import type { NamedNetwork } from '../../model/network.ts';
import { type Family, families, familyBits } from '../../net/family.ts';
import { parsePrefix, prefixProblem } from '../../net/prefix.ts';
import { mostPods, mostWithoutDemand } from '../../plan/blocks/claim-limits.ts';
import { type Rules, rulesOf } from '../../plan/blocks/decide-node.ts';
import { readClusterPool } from '../../plan/pools/cluster-pool.ts';
import { readWhole } from '../numbers.ts';
import { readSwitch } from '../switch-flag.ts';

/**
 * How blocks are given out, as flags: the same ones, judged the same way, for
 * the operator that does it and for the commands that say what it would do. A
 * combination that cannot work is refused here, before anything is looked at.
 */
export interface IpamSettings {
  mode: Mode;
  rules: Rules;
  /** Which records are believed when blocks are taken over, best first. */
  sources: HoldingSource[];
  /** Records that are compared, and not adopted from. */
  compared: readonly HoldingSource[];
  /** The pool that the flags describe, in the modes that cut from flags. */
  clusterPool?: Pool;
  /** From --service-cidr: networks that no pool may overlap. */
  serviceNetworks: NamedNetwork[];
}

/** What commander hands over: texts, because a refusal must quote what was typed. */
export interface IpamFlagValues {
  ciliumConfig?: string | true;
  ipam?: string;
  enableIpv4?: string | boolean;
  enableIpv6?: string | boolean;
  clusterPoolIpv4Cidr?: string[];
  clusterPoolIpv4MaskSize?: string;
  clusterPoolIpv6Cidr?: string[];
  clusterPoolIpv6MaskSize?: string;
  serviceCidr?: string[];
  adoptFrom?: string[];
  cooldownSeconds?: string;
  releaseByTimeSeconds?: string;
  maxBlocksPerNode?: string;
}

const looksDefault = `as the operator runs; ${defaultMode.name} where none does`;

/** Cilium's own defaults for the two mask sizes. */
const defaultMaskSize: Record<Family, number> = { ipv4: 24, ipv6: 112 };

/** `byDefault`: what holds without --ipam. An operator has a mode; whoever looks reads it there. */
export function addIpamFlags(command: Command, byDefault = looksDefault): Command {
  const known = ourModes.map(({ name, description }) => `${name}: ${description}`);
  const option = (flags: string, description: string) =>
    new Option(flags, description).helpGroup('How blocks are allocated:');
  const flag = (...words: [string, string]) => command.addOption(option(...words));
  const list = (...words: [string, string]) =>
    command.addOption(
      option(...words).argParser((text: string, before: string[] = []) => [
        ...before,
        ...text.split(',').map((part) => part.trim()),
      ]),
    );
  flag('--ipam <mode>', `${known.join('; ')} (default: ${byDefault})`);
  flag(
    '--cilium-config [where]',
    "mode, families, CIDRs and mask sizes as Cilium has them: NAMESPACE/NAME of its ConfigMap (default: kube-system/cilium-config), or a file with it or with Cilium's Helm values; other flags win",
  );
  flag('--enable-ipv4 [boolean]', 'serve IPv4 (default: true)');
  flag(
    '--enable-ipv6 [boolean]',
    'serve IPv6 (default: what the pools offer; false for cluster-pool)',
  );
  list('--cluster-pool-ipv4-cidr <cidr>', 'cluster-pool: a CIDR to cut from; repeatable');
  flag('--cluster-pool-ipv4-mask-size <length>', 'cluster-pool: size of a block (default: 24)');
  list('--cluster-pool-ipv6-cidr <cidr>', 'cluster-pool: a CIDR to cut from; repeatable');
  flag('--cluster-pool-ipv6-mask-size <length>', 'cluster-pool: size of a block (default: 112)');
  flag(
    '--cooldown-seconds <n>',
    `cluster-pool: cool-down of a block whose node is gone (default: ${defaultCooldownSeconds})`,
  );
  flag(
    '--release-by-time-seconds <n>',
    `cluster-pool: release a block after so long although nobody says that its old node is off; 0: never (default: ${releaseByTimeDefaultSeconds}, and only for nodes without an agent)`,
  );
  flag(
    '--max-blocks-per-node <n>',
    `cluster-pool: most blocks of one family for a node; records of more are not adopted (default: ${mostWithoutDemand}; cluster-pool-v2: enough for ${mostPods} pods)`,
  );
  list('--service-cidr <cidr>', 'a Service network, never to be cut into; repeatable');
  list(
    '--adopt-from <sources>',
    'records to take held blocks from, best first (default: report,ciliumnode,spec,annotation; cluster-pool: report,ciliumnode)',
  );
  return command;
}

export function readIpamFlags(values: IpamFlagValues): IpamSettings {
  const mode = modeOfFlag(values.ipam ?? defaultMode.name);
  const serviceNetworks = readServiceNetworks(values.serviceCidr ?? []);
  refuseIdleFlags(mode, values);
  const enabled = {
    ipv4: readSwitch('--enable-ipv4', values.enableIpv4),
    ipv6: readSwitch('--enable-ipv6', values.enableIpv6),
  };
  if (enabled.ipv4 === false && enabled.ipv6 === false) {
    throw badFlag(
      '--enable-ipv4 and --enable-ipv6 are both off; at least one family must be on',
      'Leave --enable-ipv4 out, or set one of them to true.',
    );
  }
  const settings = {
    mode,
    sources: readSources(mode, values.adoptFrom),
    compared: values.adoptFrom === undefined ? comparedIn(mode) : [],
    serviceNetworks,
  };
  if (mode.pools !== 'flags') {
    return { ...settings, rules: rulesOf(mode, servedFamilies(enabled)) };
  }
  const isOn = { ipv4: enabled.ipv4 ?? true, ipv6: enabled.ipv6 ?? false };
  const read = readClusterPool({
    enableIpv4: isOn.ipv4,
    enableIpv6: isOn.ipv6,
    ipv4Cidrs: values.clusterPoolIpv4Cidr ?? [],
    ipv4MaskSize: readMaskSize('ipv4', values.clusterPoolIpv4MaskSize),
    ipv6Cidrs: values.clusterPoolIpv6Cidr ?? [],
    ipv6MaskSize: readMaskSize('ipv6', values.clusterPoolIpv6MaskSize),
    reserved: serviceNetworks.map(({ prefix }) => prefix),
    cooldownSeconds:
      values.cooldownSeconds === undefined
        ? defaultCooldownSeconds
        : readWhole('--cooldown-seconds', values.cooldownSeconds, 0, 1e9),
    releaseByTimeSeconds:
      values.releaseByTimeSeconds === undefined
        ? undefined
        : readWhole('--release-by-time-seconds', values.releaseByTimeSeconds, 0, 1e9),
    maxBlocksPerNode:
      values.maxBlocksPerNode === undefined
        ? undefined
        : readWhole('--max-blocks-per-node', values.maxBlocksPerNode, 1, 1e6),
  });
  if (read.kind === 'refused') throw badFlag(read.problems.join('; '));
  const on = new Set(families.filter((family) => isOn[family]));
  return { ...settings, rules: rulesOf(mode, on), clusterPool: read.pool };
}

/** IPv4 is on unless switched off; IPv6, when nothing is said, follows the pools. */
function servedFamilies(enabled: {
  ipv4: boolean | undefined;
  ipv6: boolean | undefined;
}): Rules['families'] {
  if (enabled.ipv6 === undefined) return enabled.ipv4 === false ? new Set(['ipv6']) : 'auto';
  return new Set(families.filter((family) => enabled[family] ?? true));
}

function readMaskSize(family: Family, text: string | undefined): number {
  if (text === undefined) return defaultMaskSize[family];
  return readWhole(`--cluster-pool-${family}-mask-size`, text, 1, familyBits(family));
}

function readServiceNetworks(texts: readonly string[]): NamedNetwork[] {
  return texts.map((text) => {
    const problem = prefixProblem(text);
    const prefix = problem === undefined ? parsePrefix(text) : undefined;
    if (prefix === undefined) throw badFlag(`--service-cidr: ${problem}`);
    return { name: 'the Service network (--service-cidr)', prefix };
  });
}

/**
 * `annotation` means both names of it: the new one is believed before the old one.
 * What agents report is believed in any case, first where nobody says otherwise:
 * without it a restore of etcd would double addresses.
 */
function readSources(mode: Mode, given: readonly string[] | undefined): HoldingSource[] {
  // There the truth is Node.spec, then the annotation; CiliumNode is only compared with them.
  if (!mode.allocates) return [...mode.adoptsFrom, 'ciliumnode'];
  if (given === undefined) return [...mode.adoptsFrom];
  const found: HoldingSource[] = [];
  for (const word of given) {
    if (word !== 'report' && word !== 'ciliumnode' && word !== 'spec' && word !== 'annotation') {
      throw badFlag(
        `--adopt-from=${given.join(',')} has "${word}", which is no record of blocks`,
        'The records are report, ciliumnode, spec and annotation, in any order.',
      );
    }
    if (found.includes(word)) {
      throw badFlag(`--adopt-from=${given.join(',')} names ${word} twice`);
    }
    found.push(word);
    if (word === 'annotation') found.push('old-annotation');
  }
  return found.includes('report') ? found : ['report', ...found];
}

/** The flags that only the cluster-pool modes have. */
function poolFlags(values: IpamFlagValues): Record<string, string | undefined> {
  return {
    '--cluster-pool-ipv4-cidr': values.clusterPoolIpv4Cidr?.join(','),
    '--cluster-pool-ipv4-mask-size': values.clusterPoolIpv4MaskSize,
    '--cluster-pool-ipv6-cidr': values.clusterPoolIpv6Cidr?.join(','),
    '--cluster-pool-ipv6-mask-size': values.clusterPoolIpv6MaskSize,
    '--cooldown-seconds': values.cooldownSeconds,
    '--release-by-time-seconds': values.releaseByTimeSeconds,
    '--max-blocks-per-node': values.maxBlocksPerNode,
  };
}

/** Such flags without --ipam mean the mode that the operator runs in, if it is one of theirs. */
export function hasPoolFlags(values: IpamFlagValues): boolean {
  return Object.values(poolFlags(values)).some((value) => value !== undefined);
}

/** What an IPPool says by a field, by the flag of the cluster-pool modes. */
const ofPools: Readonly<Record<string, string>> = {
  '--cooldown-seconds': 'cooldownSeconds',
  '--release-by-time-seconds': 'releaseByTimeSeconds',
  '--max-blocks-per-node': 'maxBlocksPerNode',
};

/**
 * A flag that the mode never reads is a mistake in the mode or in the flag:
 * somebody who forgot `--ipam cluster-pool` must be told.
 */
function refuseIdleFlags(mode: Mode, values: IpamFlagValues): void {
  for (const [flag, value] of Object.entries(poolFlags(values))) {
    if (mode.pools === 'flags' || value === undefined) continue;
    throw badFlag(
      `${flag}=${value} means nothing with --ipam ${mode.name}`,
      ofPools[flag] !== undefined && mode.pools === 'objects'
        ? `Set spec.${ofPools[flag]} of the IPPool.`
        : 'Add --ipam cluster-pool, or leave the flag out.',
    );
  }
  if (!mode.allocates && values.adoptFrom !== undefined) {
    throw badFlag(
      `--adopt-from=${values.adoptFrom.join(',')} means nothing with --ipam ${mode.name}`,
      'Leave the flag out: this mode takes over and gives out nothing.',
    );
  }
}

/** What the flags state about the cluster, beside its objects. */
export function statedSettings({
  mode,
  clusterPool,
  serviceNetworks,
}: IpamSettings): StatedSettings {
  return { mode: mode.name, clusterPool, serviceNetworks };
}

function badFlag(message: string, remedy?: string): CadastreError {
  return new CadastreError('BAD_FLAG', message, remedy === undefined ? {} : { remedy });
}
