import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { getIfThere } from './get-if-there.ts';
import type { NewestObject } from './object-cache.ts';
import { type Resource, resourcePath, type StoredMeta, type StoredObject } from './resource.ts';
import { isOlder } from './resource-version.ts';

/**
 * Whether the API server still has what was seen of it.
 *
 * A watch from a version that the server has yet to reach is accepted and stays silent
 * (measured with Kubernetes 1.36): after an etcd was restored from a backup it sends
 * nothing until the count is there again, and what happened in between is never sent.
 * So before a watch is resumed that broke, or said nothing, two things are asked for:
 * how far the server is, and the newest object that was seen. What is newest is what a
 * backup lacks first. Only where the two leave a doubt are a few more objects read.
 */
export type StoreCheck =
  /** Resume the watch. */
  | 'as seen'
  /** The newest object is gone: the watch owes us its deletion, if it was one. */
  | 'newest is gone'
  /** An older version, yet what was seen is there: lists come from a stale replica. */
  | 'older version'
  /** What was seen is not there any more, and was not deleted: start over at once. */
  | 'went back';

/** What is known: how far, and the newest of it first. */
interface Known {
  completeTo: string;
  newest: readonly NewestObject[];
}

/** `unknown`: not for us to read, or no answer of an API server. */
export type Found = StoredMeta | 'absent' | 'unknown';

/** Objects that are looked at when the count has fallen. */
export const checkedObjects = 3;

export async function checkStore(
  client: Pick<KubeClient, 'get' | 'rawGet'>,
  where: { resource: Resource; namespace?: string | undefined },
  known: Known,
  signal: AbortSignal,
): Promise<StoreCheck> {
  const { resource, namespace } = where;
  const path = `${resourcePath(resource, { namespace })}?limit=1`;
  const page = (await client.rawGet(path, { signal })) as { metadata?: StoredMeta };
  const version = page.metadata?.resourceVersion ?? '';
  const found: Found[] = [];
  for (const object of known.newest) {
    found.push(await find(client, resource, object, signal));
    if (judgeStore(known, version, found) !== 'went back') break;
  }
  return judgeStore(known, version, found);
}

async function find(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  { name, namespace }: NewestObject,
  signal: AbortSignal,
): Promise<Found> {
  try {
    const object = await getIfThere<StoredObject>(client, resource, name, { namespace, signal });
    if (object === undefined) return 'absent';
    return object.metadata.name === name ? object.metadata : 'unknown';
  } catch (error) {
    // Who may list a resource need not have the right to read one object of it.
    if (error instanceof ApiError && error.isForbidden) return 'unknown';
    throw error;
  }
}

/** `found`: what has become of the newest objects, of as many as were looked at. */
export function judgeStore(known: Known, version: string, found: readonly Found[]): StoreCheck {
  const { completeTo, newest } = known;
  const hasFallen = isOlder(version, completeTo);
  const differences = found.map((one, at) => compare(newest[at]!, one));
  if (differences.includes('contradiction')) return 'went back';
  if (!hasFallen) return differences[0] === 'gone' ? 'newest is gone' : 'as seen';
  // A deletion raises the count. So none was made if it has really fallen; and if the
  // list is only stale, one of the objects that are newer than it is still there.
  const newer = differences.filter((_, at) => isOlder(version, newest[at]!.version));
  const isLost = newer.length > 0 && newer.every((one) => one === 'gone');
  return isLost ? 'went back' : 'older version';
}

function compare(newest: NewestObject, found: Found): 'none' | 'gone' | 'contradiction' {
  if (found === 'unknown') return 'none';
  if (found === 'absent') return newest.isDeleted ? 'none' : 'gone';
  const isSame = found.uid === newest.uid;
  if (isSame && newest.isDeleted) return 'contradiction';
  // One object's version only goes up, and a later namesake has a later version.
  if (isOlder(found.resourceVersion ?? '', newest.version)) return 'contradiction';
  return isSame || newest.isDeleted ? 'none' : 'gone';
}
