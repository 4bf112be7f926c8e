/** Follows CustomResourceDefinitions: accepts their names, serves them, cleans up after them. */
import { type ApiObject, type Fields, isEqual, timestamp } from '../object.ts';
import type { Registry } from '../registry.ts';
import { collectionNameOf } from '../resource.ts';
import type { ObjectStore } from '../store/store.ts';
import { type CrdStatus, customTypes, isEstablished, specOf, statusOf } from './definition.ts';

export class Registrar {
  readonly #store: ObjectStore;
  readonly #registry: Registry;
  readonly #nowMs: () => number;

  constructor(store: ObjectStore, registry: Registry, nowMs: () => number) {
    this.#store = store;
    this.#registry = registry;
    this.#nowMs = nowMs;
  }

  get #definitions() {
    return this.#store.collection('customresourcedefinitions.apiextensions.k8s.io');
  }

  /** Serves what was established before the start. */
  start(): void {
    for (const { object } of this.#definitions.entries()) {
      if (isEstablished(object)) this.#serve(object);
      else this.#establish(object);
    }
  }

  /** After a definition was created or changed. */
  follow(crd: ApiObject): void {
    if (isEstablished(crd) && isEqual(statusOf(crd)?.acceptedNames, specOf(crd).names)) {
      this.#serve(crd);
    } else {
      this.#establish(crd);
    }
  }

  forget(crd: ApiObject): void {
    const { group, names } = specOf(crd);
    this.#registry.replace(group, names.plural, []);
  }

  #serve(crd: ApiObject): void {
    const { group, names } = specOf(crd);
    this.#registry.replace(group, names.plural, customTypes(crd));
  }

  #establish(crd: ApiObject): void {
    const { group, names } = specOf(crd);
    const now = timestamp(this.#nowMs());
    const rival = this.#registry
      .all()
      .find(
        (type) => type.group === group && type.plural !== names.plural && type.kind === names.kind,
      );
    const condition = (type: string, status: string, reason: string, message: string) => ({
      type,
      status,
      lastTransitionTime: now,
      reason,
      message,
    });
    const before = statusOf(crd);
    const status: CrdStatus =
      rival === undefined
        ? {
            conditions: [
              condition('NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'),
              condition(
                'Established',
                'True',
                'InitialNamesAccepted',
                'the initial names have been accepted',
              ),
            ],
            acceptedNames: { ...names },
            storedVersions: before?.storedVersions ?? [],
          }
        : {
            conditions: [
              condition(
                'NamesAccepted',
                'False',
                'KindConflict',
                `"${names.kind}" is already in use`,
              ),
              condition('Established', 'False', 'NotAccepted', 'not all names are accepted'),
            ],
            acceptedNames: before?.acceptedNames ?? { plural: '', kind: '' },
            storedVersions: before?.storedVersions ?? [],
          };
    const said = (conditions: Fields[] | undefined) =>
      conditions?.map(({ type, status: is, reason }) => ({ type, is, reason }));
    // A refusal is said once, not at every look.
    if (rival !== undefined && isEqual(said(before?.conditions), said(status.conditions))) return;
    const { entry } = this.#store.put(this.#definitions, crd.metadata.name, {
      ...crd,
      status: status as unknown,
    });
    if (rival === undefined) this.#serve(entry.object);
  }

  /** The collection of a definition's objects. */
  collectionOf(crd: ApiObject) {
    const { group, names } = specOf(crd);
    return this.#store.collection(collectionNameOf({ group, plural: names.plural }));
  }
}
