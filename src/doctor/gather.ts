/**
 * The doctor's room: it asks every source the same question, "what do you
 * hold?", and gives the answers to `plan/doctor`, which compares.
 *
 *   list-evidence   objects of a live cluster
 *   rib/            routers' own dumps, as text, JSON, XML or MRT; each shape is a file
 *   listen          routers that connect to us, for a while (src/witness)
 *   local-kernel    the routes of this machine
 *   sources         each source by name, with its age or why it was not read
 *   gather          all of it as Evidence
 *   repair-driver   one repair at a time, fenced
 *
 * In: objects (from a cluster or from files), dumps, sessions. Out: Evidence.
 * Load-bearing: whatever was asked for and could not be read becomes a source
 * of state `unseen` or `partly`; nothing is dropped in silence.
 */
import type { ReadCluster } from '../cluster/read-cluster.ts';
import { clusterState, type StatedSettings } from '../model/cluster-state.ts';
import { type Evidence, evidenceOf, type KernelTable } from '../plan/doctor/evidence.ts';
import type { Source } from '../plan/doctor/finding.ts';
import type { SeenRouter } from '../witness/connected-router.ts';
import { noRouter, objectSources } from './sources.ts';

export interface Seen {
  nowMs: number;
  cluster: ReadCluster;
  stated: StatedSettings;
  routers: readonly SeenRouter[];
  kernel?: { table: KernelTable; source: Source } | undefined;
}

export function gather({ nowMs, cluster, stated, routers, kernel }: Seen): Evidence {
  const state = clusterState(cluster.items, stated, cluster.malformed, cluster.unread);
  return evidenceOf(state, {
    nowMs,
    routers: routers.map(({ table }) => table),
    kernel: kernel?.table,
    sources: [
      ...objectSources(cluster, state),
      ...(routers.length === 0 ? [noRouter] : routers.map(({ source }) => source)),
      ...(kernel === undefined ? [] : [kernel.source]),
    ],
  });
}
