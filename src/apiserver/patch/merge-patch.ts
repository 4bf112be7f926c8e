/** RFC 7386: fields replace fields, null takes away, lists are replaced whole. */
import { copyOf, type Fields, isFields, put } from '../object.ts';

export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return copyOf(patch);
  const result: Fields = isFields(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else
      put(
        result,
        key,
        applyMergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value),
      );
  }
  return result;
}
