import { findMode } from '../../model/modes.ts';
import type { OperatorReport } from '../../model/operator-report.ts';
import { families } from '../../net/family.ts';
import { readSwitch } from '../switch-flag.ts';
import { familyFlags } from './cilium-flags.ts';
import type { IpamFlagValues } from './ipam-flags.ts';

/**
 * The flags that the running operator was started with, as its OperatorReport says; those
 * that were given by hand win. Who asks about another mode by --ipam gets that mode alone.
 */
export function flagsOfOperator(given: IpamFlagValues, report: OperatorReport): IpamFlagValues {
  if (given.ipam !== undefined && given.ipam !== report.mode) return given;
  const mode = findMode(report.mode);
  const flags: IpamFlagValues = { ...given, ipam: report.mode };
  const { clusterPool, adoptFrom } = report;
  for (const family of families) {
    const keys = familyFlags[family];
    if (report.families !== undefined) {
      flags[keys.enable] ??= `${report.families.includes(family)}`;
    }
    if (mode?.pools !== 'flags') continue;
    if (readSwitch(`--enable-${family}`, flags[keys.enable]) === false) continue;
    const pool = clusterPool?.[family];
    if (pool === undefined) continue;
    flags[keys.cidr] ??= [...pool.cidrs];
    flags[keys.mask] ??= `${pool.maskSize}`;
  }
  if (adoptFrom.length > 0 && mode?.allocates) flags.adoptFrom ??= [...adoptFrom];
  if (mode?.pools === 'flags' && clusterPool !== undefined) {
    for (const key of ['cooldownSeconds', 'releaseByTimeSeconds', 'maxBlocksPerNode'] as const) {
      const value = clusterPool[key];
      if (value !== undefined) flags[key] ??= `${value}`;
    }
  }
  return flags;
}
