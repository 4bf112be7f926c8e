import type { HealthCheck, HealthChecks } from '../base/health-routes.ts';
import { type CacheState, syncedCheck, watchesCheck } from '../kube/cache-health.ts';
import type { DefinitionKeeper } from './definition-keeper.ts';
import type { Terms } from './terms.ts';

interface ReadinessParts {
  isSynced: () => boolean;
  terms: Pick<Terms, 'standing'>;
  definitions: Pick<DefinitionKeeper, 'missing'>;
  /** Those that blocks are decided by; none in a mode that allocates nothing. */
  caches: () => readonly CacheState[];
  /** A cluster that forbids reading Services still gets its blocks: they need not sync. */
  serviceCaches: { readonly states: readonly CacheState[] };
}

/** What /readyz of the operator says, for the leader and for those that stand by. */
export function operatorReadiness(parts: ReadinessParts): HealthChecks {
  const { isSynced, terms, definitions, caches, serviceCaches } = parts;
  return new Map<string, () => HealthCheck>([
    [
      'caches',
      () => (isSynced() ? syncedCheck(caches()) : { isOk: false, says: notSynced(caches()) }),
    ],
    [
      'leadership',
      () => {
        const { kind, says } = terms.standing();
        return { isOk: kind !== 'neither', says };
      },
    ],
    ['resource definitions', () => definitionsCheck(definitions.missing)],
    ['watches', () => watchesCheck([...caches(), ...serviceCaches.states])],
  ]);
}

function notSynced(caches: readonly CacheState[]): string {
  const check = syncedCheck(caches);
  return check.isOk ? 'the caches are not synced yet' : check.says;
}

function definitionsCheck(missing: readonly string[]): HealthCheck {
  if (missing.length === 0) return { isOk: true, says: 'all are registered' };
  return { isOk: false, says: `not registered: ${missing.join(', ')}` };
}
