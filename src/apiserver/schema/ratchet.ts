/**
 * A schema may become stricter than objects that are there already. What such
 * an object had before and keeps may stay as it is; only what changes is held
 * to the new schema. Otherwise nobody could even label it any more.
 */
import { isEqual, isFields } from '../object.ts';
import type { Fault } from '../status.ts';

/** Without the faults of what did not change. */
export function withoutOldFaults(found: Fault[], object: unknown, old: unknown): Fault[] {
  if (old === undefined || found.length === 0) return found;
  return found.filter(({ field }) => !isUnchanged(field, object, old));
}

/** The field, or something that holds it, is exactly what it was. */
function isUnchanged(field: string, object: unknown, old: unknown): boolean {
  let [now, then] = [object, old];
  for (const name of field.split('.')) {
    const [plain = '', index] = name.split('[', 2);
    if (!isFields(now) || !isFields(then)) return false;
    now = now[plain];
    then = then[plain];
    if (now !== undefined && isEqual(now, then)) return true;
    // Which item of another list an item was cannot be said by its place.
    if (index !== undefined) return false;
  }
  return false;
}
