import type { Command } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { printable } from '../../base/printable.ts';
import type { ClusterKind } from '../../model/cluster-kinds.ts';
import { type ClusterState, clusterState } from '../../model/cluster-state.ts';
import { clusterPoolName } from '../../model/keys.ts';
import { findMode, type Mode, modes } from '../../model/modes.ts';
import type { Register } from '../../plan/blocks/register.ts';
import { registerOf } from '../../plan/blocks/register-of.ts';
import type { Terminal } from '../terminal.ts';
import { contradictions, flagsOfCilium } from './cilium-flags.ts';
import { ciliumOf } from './cilium-of.ts';
import {
  addIpamFlags,
  hasPoolFlags,
  type IpamFlagValues,
  type IpamSettings,
  readIpamFlags,
  statedSettings,
} from './ipam-flags.ts';
import { flagsOfOperator } from './operator-flags.ts';
import { addViewFlags, type ClusterFlags, readCluster, type ViewFlagValues } from './view-flags.ts';

export type LookFlagValues = ViewFlagValues & IpamFlagValues;
type LookFlags = ClusterFlags & IpamFlagValues;

/** What every looking command begins with: the cluster, and the register one would have of it. */
export interface Look {
  settings: IpamSettings;
  state: ClusterState;
  register: Register;
  nowMs: number;
}

export function addLookFlags(command: Command): Command {
  return addIpamFlags(addViewFlags(command));
}

export async function lookAt(
  flags: LookFlagValues,
  terminal: Terminal,
  more: readonly ClusterKind[] = [],
): Promise<Look> {
  const { settings, state } = await readLook(flags, terminal, more);
  warnOf(state, flags, terminal);
  return {
    settings,
    state,
    register: registerOf(state, settings),
    nowMs: terminal.clock.wallMs(),
  };
}

/**
 * The cluster or the files, and how blocks are given out there: by flags, by Cilium's own
 * settings where --cilium-config asks for it, else as the running operator does it. Flags are
 * judged before anything is read, as far as they are enough: a mistake in them needs no cluster.
 */
export async function readLook(
  flags: LookFlags,
  terminal: Terminal,
  more: readonly ClusterKind[] = [],
  isOperatorMeant: (mode: Mode) => boolean = () => true,
): Promise<Pick<Look, 'settings' | 'state'>> {
  const cilium = await ciliumOf(flags, terminal);
  const filled = cilium === undefined ? flags : flagsOfCilium(flags, cilium);
  const isWhole = filled.ipam !== undefined || !hasPoolFlags(filled);
  const byFlags = isWhole ? readIpamFlags(filled) : undefined;
  const line = cilium && contradictions(flags, cilium);
  if (line !== undefined) terminal.say(printable(`warning: ${line}`));
  const { items, malformed, unread } = await readCluster(flags, terminal, more);
  const [report] = items.operatorReports ?? [];
  if (report === undefined || !isOperatorMeant(modes[report.mode])) {
    const settings = byFlags ?? readIpamFlags(filled);
    return { settings, state: clusterState(items, statedSettings(settings), malformed, unread) };
  }
  const settings = readIpamFlags(flagsOfOperator(filled, report));
  // Without a flag the mode is the operator's own word, and is shown as such.
  const stated = { ...statedSettings(settings), mode: findMode(filled.ipam)?.name };
  return { settings, state: clusterState(items, stated, malformed, unread) };
}

/** What a person should know before the answer. */
export function warnOf(state: ClusterState, flags: IpamFlagValues, terminal: Terminal): void {
  for (const { kind, name, problems } of state.malformed) {
    terminal.say(printable(`warning: ${kind} ${name}: ${problems.join('; ')}`));
  }
  // That pool is in the flags of the operator and nowhere else: without them it seems to be gone.
  const isByFlags = state.blocks.some(({ pool }) => pool === clusterPoolName);
  const isGiven = flags.ipam !== undefined || flags.ciliumConfig !== undefined;
  if (isGiven || state.operator !== undefined || state.pools.length > 0 || !isByFlags) return;
  terminal.say(
    `note: the blocks here were cut in mode cluster-pool, and no OperatorReport says from which pool; give the operator's flags (--ipam cluster-pool --cluster-pool-ipv4-cidr …), or that pool is not known here`,
  );
}

/** A pool that nobody knows is a slip of the pen, not an empty answer; a deleted one still has blocks. */
export function checkPool({ register }: Look, pool: string | undefined): void {
  if (pool === undefined || register.poolSet.get(pool) !== undefined) return;
  for (const block of register.blocks.values()) if (block.pool === pool) return;
  throw new CadastreError('BAD_INPUT', `--pool=${pool}: there is no pool "${pool}"`, {
    remedy: 'cadastre pools -o name lists them.',
  });
}

/** Those that were asked for by name, in that order; all of them if nobody was. */
export function pickNamed<T>(
  all: readonly T[],
  wanted: readonly string[],
  noun: string,
  isCalled: (item: T, name: string) => boolean,
): T[] {
  if (wanted.length === 0) return [...all];
  return wanted.map((name) => {
    const found = all.find((item) => isCalled(item, name));
    if (found !== undefined) return found;
    throw new CadastreError('BAD_INPUT', `there is no ${noun} "${name}"`, {
      remedy: `cadastre ${noun}s -o name lists them.`,
    });
  });
}
