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
  /** The count has fallen, and nothing that is newer than it is there: start over if the list shows it too. */
  | 'fell back'
  /** An object is older than it was seen, or back although it was deleted: start over at once. */
  | 'went back';

interface Known {
  /** How far the server was. */
  completeTo: string;
  /** Of the last list: what was deleted before it was never seen to be deleted. */
  listedAt: string;
  /** What changed last, first. */
  newest: readonly NewestObject[];
}

/** `unknown`: not for us to read, or no answer of an API server. */
export type Found = StoredMeta | 'absent' | 'unknown';

/** Objects that are looked at when the count has fallen. */
export const checkedObjects = 3;

export async function checkStore(
  client: Pick<KubeClient, 'get' | 'rawGet'>,
  where: {
    resource: Resource;
    namespace?: string | undefined;
    fieldSelector?: string | undefined;
  },
  known: Known,
  signal: AbortSignal,
): Promise<{ check: StoreCheck; version: string }> {
  const { resource, namespace, fieldSelector } = where;
  const query = new URLSearchParams({ limit: '1' });
  // Who may read an object by its name may list it by its name, and nothing else.
  if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
  const path = `${resourcePath(resource, { namespace })}?${query}`;
  const page = (await client.rawGet(path, { signal })) as { metadata?: StoredMeta };
  const version = page.metadata?.resourceVersion ?? '';
  const found: Found[] = [];
  for (const object of known.newest) {
    // Beyond the newest only those can tell anything that the server should not have yet.
    if (found.length > 0 && !isOlder(version, object.version)) break;
    found.push(await find(client, resource, object, signal));
  }
  return { check: judgeStore(known, version, found), version };
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
  const { completeTo, listedAt, newest } = known;
  const differences = found.map((one, at) => differs(newest[at]!, one));
  if (differences.includes('contradiction')) return 'went back';
  if (!isOlder(version, completeTo)) {
    return differences[0] === 'gone' ? 'newest is gone' : 'as seen';
  }
  const isNewer = (seen: string) => isOlder(version, seen);
  // Nothing was seen to change since that version: whatever the list is, it takes nothing away.
  if (!isNewer(listedAt) && !newest.some((one) => isNewer(one.version))) return 'fell back';
  // A deletion raises the count. So none was made if it has really fallen; and if the
  // list is only stale, one of the objects that are newer than it is still there.
  const newer = differences.filter((_, at) => isNewer(newest[at]!.version));
  return newer.includes('gone') && !newer.includes('there') ? 'fell back' : 'older version';
}

function differs(
  newest: NewestObject,
  found: Found,
): 'there' | 'gone' | 'contradiction' | 'unknown' {
  if (found === 'unknown') return 'unknown';
  if (found === 'absent') return newest.isDeleted ? 'unknown' : 'gone';
  const isSame = found.uid === newest.uid;
  if (isSame && newest.isDeleted) return 'contradiction';
  // One object's version only goes up, and a later namesake has a later version.
  if (isOlder(found.resourceVersion ?? '', newest.version)) return 'contradiction';
  if (isSame) return 'there';
  return newest.isDeleted ? 'unknown' : 'gone';
}
