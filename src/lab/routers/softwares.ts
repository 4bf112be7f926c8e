import { existsSync } from 'node:fs';
import type { LabRouter, Software, Topology } from '../topology.ts';
import { bird } from './bird.ts';
import { frr } from './frr.ts';
import { own } from './own.ts';
import type { RouterSoftware } from './router.ts';

const all: Readonly<Record<Exclude<Software, 'none'>, RouterSoftware>> = { frr, bird, own };

export function softwareOf(software: Software | undefined): RouterSoftware | undefined {
  return software === undefined || software === 'none' ? undefined : all[software];
}

/**
 * What each router will really run: what its topology says, else what the
 * command asked for, else FRR, else BIRD; and our own where that is not installed.
 */
export function chooseSoftware(
  topology: Topology,
  asked: Software | undefined,
  isThere: (program: string) => boolean = existsSync,
): { chosen: Record<string, Software>; missing: Software[] } {
  const isInstalled = (software: Software) => isThere(softwareOf(software)?.program ?? '');
  const missing = new Set<Software>();
  const chosen: Record<string, Software> = {};
  const preferred = asked ?? (isInstalled('frr') ? 'frr' : isInstalled('bird') ? 'bird' : 'own');
  if (asked === undefined && preferred === 'own') missing.add('frr').add('bird');
  for (const router of topology.routers) chosen[router.name] = choose(router);
  return { chosen, missing: [...missing] };

  function choose({ software }: LabRouter): Software {
    if (software === 'none') return 'none';
    const wanted = software ?? preferred;
    if (wanted === 'none' || isInstalled(wanted)) return wanted;
    missing.add(wanted);
    return 'own';
  }
}
