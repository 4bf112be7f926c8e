import { getIfThere, ifFound } from '../kube/get-if-there.ts';
import { serviceAddresses } from '../model/resources.ts';
import { type ClusterService, serviceKey } from '../model/service.ts';
import {
  readServiceAddress,
  type ServiceAddress,
  serviceAddressName,
  writeServiceAddress,
} from '../model/service-address.ts';
import type { Address } from '../net/address.ts';
import { isStillHeld } from '../plan/services/decide-service.ts';
import { createOrFind } from './create-or-find.ts';
import type { WriterBase } from './operator-base.ts';

/**
 * The only writer of ServiceAddresses, with the care of the one of blocks: creating one is the allocation; an unknown outcome is asked for again by
 * the same name, for the same Service; a release is fenced by uid and version.
 */
interface ServiceAddressWriterOptions extends WriterBase {
  store: { put(raw: unknown): void; remove(key: string, uid: string): void };
}

export class ServiceAddressWriter {
  readonly #o: ServiceAddressWriterOptions;

  constructor(options: ServiceAddressWriterOptions) {
    this.#o = options;
  }

  /** Whether the address is the Service's now; else somebody holds it, and is known from here on. */
  async create(address: Address, pool: string, service: ClusterService): Promise<boolean> {
    const outcome = await createOrFind({
      ...this.#o,
      resource: serviceAddresses,
      body: writeServiceAddress(address, pool, service),
      read: () => this.#read(serviceAddressName(address)),
    });
    if (outcome.kind === 'made') {
      this.#o.store.put(outcome.raw);
      return true;
    }
    const { found } = outcome;
    return found.serviceUid === service.uid && found.service === serviceKey(service);
  }

  async free({ name, uid, resourceVersion }: ServiceAddress): Promise<void> {
    this.#o.assertLeading();
    await ifFound(this.#o.client.delete(serviceAddresses, name, { uid, resourceVersion }));
    this.#o.store.remove(name, uid);
  }

  /** Asks the API server past the cache, which learns what is there. */
  async isStillHeld(known: ServiceAddress): Promise<boolean> {
    const now = await this.#read(known.name);
    if (now === undefined) this.#o.store.remove(known.name, known.uid);
    return isStillHeld(known, now);
  }

  async #read(name: string): Promise<ServiceAddress | undefined> {
    const raw = await getIfThere(this.#o.client, serviceAddresses, name);
    if (raw === undefined) return undefined;
    this.#o.store.put(raw);
    return readServiceAddress(raw);
  }
}
