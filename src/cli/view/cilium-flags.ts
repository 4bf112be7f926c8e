import { CadastreError } from '../../base/errors.ts';
import type { CiliumSettings } from '../../model/cilium-config.ts';
import { findMode, modeOfCilium } from '../../model/modes.ts';
import { families } from '../../net/family.ts';
import { readSwitch } from '../switch-flag.ts';
import type { NamedCilium } from './cilium-settings.ts';
import type { IpamFlagValues } from './ipam-flags.ts';

/** The flags that Cilium's own settings stand for; those that were given by hand win. */
export function flagsOfCilium(
  given: IpamFlagValues,
  { settings, where }: NamedCilium,
): IpamFlagValues {
  const { clusterPool, enabled, ipam } = settings;
  const name = given.ipam ?? modeOfCilium(ipam)?.name;
  if (name === undefined) throw unserved(ipam, where);
  const flags: IpamFlagValues = {
    ...given,
    ipam: name,
    enableIpv4: given.enableIpv4 ?? `${enabled.ipv4}`,
    enableIpv6: given.enableIpv6 ?? `${enabled.ipv6}`,
  };
  if (findMode(name)?.pools !== 'flags') return flags;
  for (const family of families) {
    const keys = familyFlags[family];
    // The chart of Cilium has a range for IPv6 also where IPv6 is off.
    if (readSwitch(`--enable-${family}`, flags[keys.enable]) === false) continue;
    flags[keys.cidr] ??= [...clusterPool[family].cidrs];
    flags[keys.mask] ??= `${clusterPool[family].maskSize}`;
  }
  return flags;
}

/** One line of all flags that say something else than Cilium's settings; undefined: none does. */
export function contradictions(
  given: IpamFlagValues,
  { settings, where }: NamedCilium,
): string | undefined {
  const { clusterPool, enabled, ipam } = settings;
  const found: string[] = [];
  const compare = (flag: string, value: string | undefined, there: string, isSame: boolean) => {
    if (value !== undefined && !isSame) found.push(`${flag}=${value} (there: ${there})`);
  };
  // Agents that leave allocation to a plugin are served by any mode of ours.
  const isSameMode = ipam === pluginMode || modeOfCilium(ipam)?.name === given.ipam;
  compare('--ipam', given.ipam, ipam, isSameMode);
  for (const family of families) {
    const keys = familyFlags[family];
    const pool = clusterPool[family];
    const enable = readSwitch(`--enable-${family}`, given[keys.enable]);
    const isOn = enabled[family];
    compare(`--enable-${family}`, enable?.toString(), `${isOn}`, enable === isOn);
    const cidrs = given[keys.cidr];
    const isSameRange = sorted(cidrs ?? []) === sorted(pool.cidrs);
    const range = pool.cidrs.join(',') || 'none';
    compare(`--cluster-pool-${family}-cidr`, cidrs?.join(','), range, isSameRange);
    const mask = given[keys.mask];
    const isSameSize = Number(mask) === pool.maskSize;
    compare(`--cluster-pool-${family}-mask-size`, mask, `${pool.maskSize}`, isSameSize);
  }
  return found.length === 0 ? undefined : `flags win over ${where}: ${found.join(', ')}`;
}

/** What the flags of a family are called. */
export const familyFlags = {
  ipv4: {
    enable: 'enableIpv4',
    cidr: 'clusterPoolIpv4Cidr',
    mask: 'clusterPoolIpv4MaskSize',
  },
  ipv6: {
    enable: 'enableIpv6',
    cidr: 'clusterPoolIpv6Cidr',
    mask: 'clusterPoolIpv6MaskSize',
  },
} as const;

const pluginMode = 'delegated-plugin';

function unserved(ipam: CiliumSettings['ipam'], where: string): CadastreError {
  const message = `--cilium-config: ${where}: ipam is ${ipam}, a mode that Cadastre does not serve`;
  return new CadastreError('BAD_FLAG', message, {
    remedy:
      ipam === pluginMode
        ? "Add --ipam ip-pool, with Cadastre's agents as the plugin (docs/cni.md), or --ipam cluster-pool and its CIDRs."
        : 'Cadastre serves cluster-pool, multi-pool and kubernetes: keep the allocator that you have, or give --ipam for a Cilium that is to change.',
  });
}

function sorted(cidrs: readonly string[]): string {
  return [...cidrs].sort().join(',');
}
