/**
 * What a cluster's controllers do after a delete, and a server alone must do
 * itself: what was owned goes with its owner, what lies in a namespace goes
 * with the namespace, custom objects go with their definition, and a pod that
 * nobody runs goes when its time is over.
 *
 * It acts on changes that are safe on disk, and once at the start for what a
 * crash left half done. Each step can be done twice.
 */
import { describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import { longestTimerMs, timerMs } from '../../base/timer-ms.ts';
import { type Api, collectionOf } from '../api.ts';
import { cleanup } from '../custom/definition.ts';
import type { Registrar } from '../custom/registrar.ts';
import { type ApiObject, copyOf, type Fields, type OwnerReference } from '../object.ts';
import { collectionNameOf, type ResourceType } from '../resource.ts';
import type { Change, Collection, Entry } from '../store/collection.ts';
import { foreground, orphan, removeEntry } from '../verbs/delete.ts';
import { isHeldBySpec } from '../verbs/update.ts';
import { Owners } from './owners.ts';

const definitions = 'customresourcedefinitions.apiextensions.k8s.io';

/** What a namespace has from its creation, until it is empty. */
const ownFinalizer = 'kubernetes';
const eventLifeMs = 3_600_000;
const sweepEveryMs = 60_000;

export class Cleaner {
  readonly #api: Api;
  readonly #registrar: Registrar;
  readonly #log: Log;
  readonly #owners = new Owners();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #isStopped = false;
  #sweep: NodeJS.Timeout | undefined;

  constructor(api: Api, registrar: Registrar, log: Log) {
    this.#api = api;
    this.#registrar = registrar;
    this.#log = log;
  }

  start(): void {
    const collections = this.#api.registry.stored().map((type) => collectionOf(this.#api, type));
    for (const collection of collections) {
      for (const entry of collection.entries()) this.#owners.add(collection, entry);
    }
    for (const collection of collections) {
      for (const entry of [...collection.entries()]) this.#look(collection, entry);
    }
    this.#api.store.onChange((collection, change) => {
      this.#owners.follow(collection, change);
      // Not inside the answer of whoever made the change.
      setImmediate(() => this.#act(collection, change));
    });
    this.#sweep = setInterval(() => this.#forgetEvents(), sweepEveryMs);
    this.#sweep.unref();
  }

  /** Events are news, not records: an hour after they were last seen they go. */
  #forgetEvents(): void {
    const events = this.#api.store.collection('events');
    for (const { key, object } of [...events.entries()]) {
      const times = [object.metadata.creationTimestamp, object.lastTimestamp, object.eventTime];
      const seenMs = Math.max(...times.map((time) => Date.parse(String(time)) || 0));
      if (this.#api.nowMs() - seenMs > eventLifeMs) this.#api.store.remove(events, key);
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#sweep);
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #act(collection: Collection, { before, after }: Change): void {
    if (this.#isStopped) return;
    try {
      if (collection.name === definitions) {
        if (after === undefined && before !== undefined) this.#registrar.forget(before.object);
        else if (after !== undefined && collection.get(after.key) === after) {
          if (after.object.metadata.deletionTimestamp === undefined)
            this.#registrar.follow(after.object);
        }
      }
      if (after !== undefined) this.#look(collection, after);
      else if (before !== undefined) this.#afterwards(before);
    } catch (error) {
      this.#log.error(
        { resource: collection.name, error: describeError(error) },
        'clean-up failed',
      );
    }
  }

  /** Whether the object as it is now wants something done. */
  #look(collection: Collection, seen: Entry): void {
    const entry = collection.get(seen.key);
    // A newer state brings a call of its own.
    if (entry !== seen) return;
    const { metadata } = entry.object;
    if (metadata.deletionTimestamp !== undefined) this.#finish(collection, entry);
    else if (this.#isAbandoned(entry.object)) this.#remove(collection, entry);
  }

  /** It names owners, and none of them lives. */
  #isAbandoned({ metadata }: ApiObject): boolean {
    const owners = metadata.ownerReferences ?? [];
    return owners.length > 0 && owners.every((owner) => this.#isGone(owner));
  }

  /** Of a kind that is not served here nobody can say that it is gone. */
  #isGone({ apiVersion, kind, uid }: OwnerReference): boolean {
    return (
      !this.#owners.isAlive(uid) && this.#api.registry.findKind(apiVersion, kind) !== undefined
    );
  }

  /** The object is gone: what depended on it, and what waited for it. */
  #afterwards({ object }: Entry): void {
    const { uid, namespace, ownerReferences } = object.metadata;
    if (uid !== undefined) {
      for (const { collection, key } of this.#owners.dependentsOf(uid)) {
        const dependent = collection.get(key);
        if (dependent === undefined) continue;
        if (this.#isAbandoned(dependent.object)) this.#remove(collection, dependent);
        else this.#withoutOwner(collection, dependent, uid);
      }
    }
    for (const { uid: owner } of ownerReferences ?? []) this.#lookAgain(owner);
    if (namespace !== undefined) {
      const namespaces = this.#api.store.collection('namespaces');
      const home = namespaces.get(namespace);
      if (home?.object.metadata.deletionTimestamp !== undefined) this.#finish(namespaces, home);
    }
    const type = this.#typeOf(object);
    if (type?.isCustom) {
      const crds = this.#api.store.collection(definitions);
      const crd = crds.get(`${type.plural}.${type.group}`);
      if (crd?.object.metadata.deletionTimestamp !== undefined) this.#finish(crds, crd);
    }
  }

  /** An owner that waits for its dependents. */
  #lookAgain(uid: string): void {
    const found = this.#owners.find(uid);
    const entry = found?.collection.get(found.key);
    if (found === undefined || entry === undefined) return;
    if (entry.object.metadata.deletionTimestamp !== undefined)
      this.#finish(found.collection, entry);
  }

  /** An object that is being deleted: what is still to be done before it may go. */
  #finish(collection: Collection, entry: Entry): void {
    const { object } = entry;
    const finalizers = object.metadata.finalizers ?? [];
    if (finalizers.includes(orphan)) this.#orphan(collection, entry);
    else if (finalizers.includes(foreground)) this.#foreground(collection, entry);
    else if (finalizers.includes(cleanup)) this.#emptyDefinition(collection, entry);
    else if (isHeldBySpec(object)) this.#emptyNamespace(collection, entry);
    else if ((object.metadata.deletionGracePeriodSeconds ?? 0) > 0 && !this.#api.hasKubelets) {
      this.#whenTimeIsOver(collection, entry);
    }
  }

  #orphan(collection: Collection, entry: Entry): void {
    const { uid = '' } = entry.object.metadata;
    for (const dependent of this.#owners.dependentsOf(uid)) {
      const held = dependent.collection.get(dependent.key);
      if (held !== undefined) this.#withoutOwner(dependent.collection, held, uid);
    }
    this.#withoutFinalizer(collection, entry, orphan);
  }

  #foreground(collection: Collection, entry: Entry): void {
    const { uid = '' } = entry.object.metadata;
    let isBlocked = false;
    for (const dependent of this.#owners.dependentsOf(uid)) {
      const held = dependent.collection.get(dependent.key);
      if (held === undefined) continue;
      const reference = held.object.metadata.ownerReferences?.find((owner) => owner.uid === uid);
      const others =
        held.object.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? [];
      if (others.some((owner) => !this.#isGone(owner))) continue;
      if (held.object.metadata.deletionTimestamp === undefined)
        this.#remove(dependent.collection, held);
      if (reference?.blockOwnerDeletion && dependent.collection.get(dependent.key))
        isBlocked = true;
    }
    if (!isBlocked) this.#withoutFinalizer(collection, entry, foreground);
  }

  #emptyDefinition(collection: Collection, entry: Entry): void {
    const objects = this.#registrar.collectionOf(entry.object);
    for (const each of [...objects.entries()]) {
      if (each.object.metadata.deletionTimestamp === undefined) this.#remove(objects, each);
    }
    if (objects.size === 0) this.#withoutFinalizer(collection, entry, cleanup);
  }

  #emptyNamespace(namespaces: Collection, entry: Entry): void {
    const { name } = entry.object.metadata;
    const { finalizers = [] } = entry.object.spec as { finalizers?: string[] };
    if (!finalizers.includes(ownFinalizer)) return;
    let left = 0;
    for (const type of this.#api.registry.stored()) {
      if (!type.namespaced) continue;
      const collection = collectionOf(this.#api, type);
      for (const each of collection.list(name)) {
        if (each.object.metadata.deletionTimestamp === undefined) this.#remove(collection, each);
        if (collection.get(each.key) !== undefined) left += 1;
      }
    }
    if (left > 0) return;
    // Nothing is left in it: the last hold is the namespace's own.
    const object = copyOf(entry.object);
    (object.spec as Fields).finalizers = finalizers.filter((each) => each !== ownFinalizer);
    this.#settle(namespaces, entry, object);
  }

  #whenTimeIsOver(collection: Collection, { key, object }: Entry): void {
    const id = `${collection.name} ${key}`;
    clearTimeout(this.#timers.get(id));
    const dueMs = Date.parse(object.metadata.deletionTimestamp as string) - this.#api.nowMs();
    const timer = setTimeout(
      () => {
        this.#timers.delete(id);
        const entry = collection.get(key);
        if (entry === undefined || entry.object.metadata.uid !== object.metadata.uid) return;
        if (dueMs > longestTimerMs) return this.#whenTimeIsOver(collection, entry);
        const over = copyOf(entry.object);
        over.metadata.deletionGracePeriodSeconds = 0;
        this.#settle(collection, entry, over);
      },
      timerMs(Math.max(0, dueMs)),
    );
    timer.unref();
    this.#timers.set(id, timer);
  }

  #withoutOwner(collection: Collection, entry: Entry, uid: string): void {
    const object = copyOf(entry.object);
    const left = object.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? [];
    if (left.length === 0) delete object.metadata.ownerReferences;
    else object.metadata.ownerReferences = left;
    this.#api.store.put(collection, entry.key, object);
  }

  #withoutFinalizer(collection: Collection, entry: Entry, finalizer: string): void {
    const current = collection.get(entry.key);
    if (current === undefined) return;
    const object = copyOf(current.object);
    const left = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer);
    if (left.length === 0) delete object.metadata.finalizers;
    else object.metadata.finalizers = left;
    this.#settle(collection, current, object);
  }

  /** Stores it, or lets it go if nothing holds it any more. */
  #settle(collection: Collection, entry: Entry, object: ApiObject): void {
    const { finalizers, deletionGracePeriodSeconds } = object.metadata;
    const isHeld = finalizers?.length || deletionGracePeriodSeconds || isHeldBySpec(object);
    if (isHeld) this.#api.store.put(collection, entry.key, object);
    else this.#api.store.remove(collection, entry.key);
  }

  #remove(collection: Collection, entry: Entry): void {
    const type = this.#typeOf(entry.object) ?? this.#typeOfCollection(collection);
    if (type === undefined) {
      this.#api.store.remove(collection, entry.key);
      return;
    }
    const { namespace } = entry.object.metadata;
    removeEntry(this.#api, { type, namespace }, entry, { propagationPolicy: 'Background' });
  }

  #typeOf(object: ApiObject): ResourceType | undefined {
    return this.#api.registry.findKind(object.apiVersion, object.kind);
  }

  #typeOfCollection(collection: Collection): ResourceType | undefined {
    return this.#api.registry.stored().find((type) => collectionNameOf(type) === collection.name);
  }
}
