/**
 * Kubernetes' tests by name, started on a machine outside of the cluster and of the nodes'
 * network, from where the addresses of Services are reached as clients reach them.
 */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { runE2e } from '../e2e/run-e2e.ts';
import type { Spec } from '../e2e/specs.ts';

export interface Place {
  readonly kubeconfig: string;
  /** The command line in front, which enters a namespace. */
  readonly inside: readonly string[];
  /** Where logs and reports go. */
  readonly folder: string;
}

/** A quarter of an hour each: they wait a minute for every pod of five rolling updates. */
const isLong = (name: string) => name.includes('disruption during rolling update');

/** `atOnce` at a time; long ones beside them. */
export async function runTests(
  { kubeconfig, inside, folder }: Place,
  names: readonly string[],
  atOnce: number,
): Promise<Spec[]> {
  const place = mkdtempSync(join(folder, 'run-'));
  const short = names.filter((name) => !isLong(name));
  const shards = [
    ...names.filter(isLong).map((name) => [name]),
    ...Array.from({ length: atOnce }, (_, shard) =>
      short.filter((_, index) => index % atOnce === shard),
    ).filter((shard) => shard.length > 0),
  ];
  const runs = shards.map(async (shard, at) => {
    const own = new Set(shard);
    const focus = ` (${[...own].map(escaped).join('|')})$`;
    const all = await runE2e({ kubeconfig, inside, focus, files: join(place, `${at}-`) });
    return all.filter(({ name }) => own.has(name));
  });
  return (await Promise.all(runs)).flat();
}

function escaped(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
