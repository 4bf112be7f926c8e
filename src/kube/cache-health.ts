import type { HealthCheck } from '../base/health-routes.ts';
import { silentLimitMs } from './watch-times.ts';

/** What /readyz asks of a cache; ListWatch is one. */
export interface CacheState {
  /** `nodeblocks.cadastre.dev`. */
  readonly name: string;
  readonly hasSynced: boolean;
  readonly refusal: 'not registered' | 'forbidden' | undefined;
  silentMs(): number;
}

export function syncedCheck(caches: readonly CacheState[]): HealthCheck {
  const missing = caches.filter(({ hasSynced }) => !hasSynced).map(withRefusal);
  if (missing.length > 0) return { isOk: false, says: `not synced yet: ${missing.join(', ')}` };
  return { isOk: true, says: `${caches.length} caches are synced` };
}

/** Of those that have synced: whether the API server still sends what they need. */
export function watchesCheck(caches: readonly CacheState[]): HealthCheck {
  const synced = caches.filter(({ hasSynced }) => hasSynced);
  const silent = synced.filter((cache) => cache.silentMs() > silentLimitMs);
  if (silent.length > 0) {
    const words = silent.map((one) => `${withRefusal(one)} for ${seconds(one.silentMs())}`);
    return { isOk: false, says: `nothing was received about ${words.join(', ')}` };
  }
  const longestMs = Math.max(0, ...synced.map((cache) => cache.silentMs()));
  return { isOk: true, says: `the longest silence of a cache is ${seconds(longestMs)}` };
}

/** Whether the API server serves all of them. */
export function servedCheck(caches: readonly CacheState[]): HealthCheck {
  const names = (some: readonly CacheState[]) => some.map(({ name }) => name).join(', ');
  const missing = caches.filter(({ refusal }) => refusal === 'not registered');
  if (missing.length > 0) return { isOk: false, says: `not registered: ${names(missing)}` };
  const unknown = caches.filter(({ hasSynced, refusal }) => !hasSynced && refusal === undefined);
  if (unknown.length > 0) return { isOk: false, says: `not known yet: ${names(unknown)}` };
  return { isOk: true, says: 'all are registered' };
}

function withRefusal({ name, refusal }: CacheState): string {
  return refusal === undefined ? name : `${name} (${refusal})`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
