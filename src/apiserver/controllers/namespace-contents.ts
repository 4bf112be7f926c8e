/**
 * What every namespace has from its beginning, and what a cluster's controllers
 * put there: the service account of pods that name none, and the certificates
 * by which they know the API server. Deleted, they come again.
 */
import { describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Api } from '../api.ts';
import type { Change, Collection } from '../store/collection.ts';
import { create } from '../verbs/create.ts';

const rootCertificates = 'kube-root-ca.crt';

export class NamespaceContents {
  readonly #api: Api;
  readonly #certificates: string;
  readonly #log: Log;
  #isStopped = false;

  constructor(api: Api, certificates: string, log: Log) {
    this.#api = api;
    this.#certificates = certificates;
    this.#log = log;
  }

  start(): void {
    const { store } = this.#api;
    for (const { key } of [...store.collection('namespaces').entries()]) this.#fill(key);
    store.onChange((collection, change) => {
      const namespace = namespaceToFill(collection, change);
      // Not inside the answer of whoever made the change.
      if (namespace !== undefined) setImmediate(() => this.#fill(namespace));
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  #fill(namespace: string): void {
    const home = this.#api.store.collection('namespaces').get(namespace)?.object;
    if (this.#isStopped || home === undefined) return;
    if (home.metadata.deletionTimestamp !== undefined) return;
    try {
      this.#ensure(namespace, 'serviceaccounts', 'ServiceAccount', 'default', {});
      this.#ensure(namespace, 'configmaps', 'ConfigMap', rootCertificates, {
        data: { 'ca.crt': this.#certificates },
      });
    } catch (error) {
      this.#log.error({ object: namespace, error: describeError(error) }, 'namespace not filled');
    }
  }

  #ensure(namespace: string, plural: string, kind: string, name: string, fields: object): void {
    const { registry, store } = this.#api;
    const type = registry.find('', 'v1', plural);
    if (type === undefined || store.collection(plural).get(`${namespace}/${name}`)) return;
    const body = { apiVersion: 'v1', kind, metadata: { name }, ...fields };
    create(this.#api, { type, namespace }, body, {
      dryRun: false,
      fieldManager: 'apiserver',
      fieldValidation: 'Ignore',
      force: false,
      warnings: [],
    });
  }
}

/** A namespace that is new, or that lost what it should have. */
function namespaceToFill(collection: Collection, { key, before, after }: Change) {
  if (collection.name === 'namespaces') return before === undefined ? key : undefined;
  const name = { serviceaccounts: 'default', configmaps: rootCertificates }[collection.name];
  const [namespace, gone] = key.split('/');
  return after === undefined && gone !== undefined && gone === name ? namespace : undefined;
}
