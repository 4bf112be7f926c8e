import { ApiError } from '../kube/api-error.ts';
import type { EventRecorder } from '../kube/events.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import { serviceConditionType } from '../model/keys.ts';
import type { Condition } from '../model/object.ts';
import { services } from '../model/resources.ts';
import { type ClusterService, readService } from '../model/service.ts';
import type { ServiceAddress } from '../model/service-address.ts';
import type { Address } from '../net/address.ts';
import { dated } from '../plan/pools/pool-conditions.ts';
import {
  decideService,
  desiredIngress,
  type ServiceDecision,
  type ServiceQuestion,
} from '../plan/services/decide-service.ts';
import type { WriterBase } from './operator-base.ts';
import type { ServiceAddressWriter } from './service-address-writer.ts';
import type { ServiceCaches } from './service-caches.ts';
import type { Worker } from './work-queue.ts';

/**
 * Brings one Service in line: claims what it lacks, then shows it in its status,
 * then gives back what it does not need. In this order, so that no address is
 * shown that is not its own, and none is given to another while it is shown.
 *
 * Before anything is given back the Service is read from the API server itself, and
 * so is the address that it has instead: a cache that is a moment behind must not
 * take a living Service's last address.
 */
interface ServiceWorkerOptions extends WriterBase {
  events: EventRecorder;
  writer: ServiceAddressWriter;
  caches: ServiceCaches;
  /** Whether everything that Services show is adopted, so that new addresses may be given. */
  mayAssign(): boolean;
}

/** More addresses than this are never lost to other leaders in one go. */
const maxRounds = 64;

export class ServiceWorker implements Worker {
  /** Services that lack an address: asked again when one may have become free. */
  readonly unserved = new Map<string, string>();
  readonly #o: ServiceWorkerOptions;
  /** Asked of the API server at this moment, on behalf of which Service. */
  readonly #pending = new Map<string, string>();

  constructor(options: ServiceWorkerOptions) {
    this.#o = options;
  }

  forgetAll(): void {
    this.unserved.clear();
  }

  async reconcile(key: string): Promise<undefined> {
    const { services: cache, isSynced } = this.#o.caches;
    if (!isSynced) return undefined;
    let decision = this.#decide(key, cache.get(key));
    // What an earlier Service of the name held goes first: it may be the very address that is asked for.
    const uid = cache.get(key)?.uid;
    if (decision.free.some(({ serviceUid }) => serviceUid !== uid)) {
      await this.#giveBack(key);
      decision = this.#decide(key, cache.get(key));
    }
    for (let round = 0; decision.claim.length > 0 && round < maxRounds; round++) {
      const { address, pool } = decision.claim[0]!;
      await this.#claim(key, address, pool);
      decision = this.#decide(key, cache.get(key));
    }
    const service = cache.get(key);
    if (service !== undefined) await this.#showStatus(key, service, decision);
    if (!decision.isOurs) this.unserved.delete(key);
    if (decision.free.length + decision.replaced.length > 0) await this.#giveBack(key);
    return undefined;
  }

  #decide(key: string, service: ClusterService | undefined): ServiceDecision {
    const { caches } = this.#o;
    const question: ServiceQuestion = {
      service,
      held: caches.heldBy(key).filter(({ deleting }) => !deleting),
      pools: caches.poolSet(),
      isTaken: (address) => {
        const by = this.#pending.get(address);
        return (by !== undefined && by !== key) || caches.isTaken(address, key, service?.uid ?? '');
      },
      mayAssign: this.#o.mayAssign(),
    };
    return decideService(question);
  }

  async #claim(key: string, address: Address, pool: string): Promise<void> {
    const service = this.#o.caches.services.get(key);
    if (service === undefined) return;
    const text = address.toString();
    this.#pending.set(text, key);
    try {
      const isOurs = await this.#o.writer.create(address, pool, service);
      if (!isOurs) return;
      const fields = { reason: 'AddressAssigned', service: key, address: text, pool };
      this.#o.log.info(fields, `assigned ${text} of pool ${pool} to Service ${key}`);
    } finally {
      this.#pending.delete(text);
    }
  }

  /** The status and the condition; and an Event when the condition is another one. */
  async #showStatus(
    key: string,
    service: ClusterService,
    decision: ServiceDecision,
  ): Promise<void> {
    if (!decision.isOurs) {
      if (!service.isForUs && service.condition !== undefined) await this.#removeCondition(service);
      return;
    }
    const ingress = desiredIngress(service, decision.keep);
    const condition = this.#condition(service, decision);
    if (condition === undefined) return;
    const isNewCondition =
      condition.reason !== service.condition?.reason ||
      condition.message !== service.condition?.message;
    if (condition.status === 'True') this.unserved.delete(key);
    else this.unserved.set(key, condition.message);
    if (!isNewCondition && ingress.join() === service.ingress.join()) return;
    this.#o.assertLeading();
    const { uid, resourceVersion, name, namespace } = service;
    const body = {
      // Fenced: what was decided on an old version is decided again on the new one.
      metadata: { uid, resourceVersion },
      status: {
        loadBalancer: { ingress: ingress.map((ip) => ({ ip })) },
        conditions: [condition],
      },
    };
    await this.#patch(service, body);
    if (!isNewCondition) return;
    const { reason, message } = condition;
    const type = condition.status === 'True' ? 'Normal' : 'Warning';
    if (type === 'Warning') this.#o.log.warn({ reason, service: key }, message);
    const object = { apiVersion: 'v1', kind: 'Service', namespace, name, uid };
    this.#o.events.record({ object, type, reason, message });
  }

  #condition(service: ClusterService, { keep, refused }: ServiceDecision): Condition | undefined {
    const [first] = refused;
    // Nothing to say yet: it will be decided when everything that exists is taken over.
    if (first === undefined && keep.length === 0) return undefined;
    const wanted: Omit<Condition, 'lastTransitionTime'> =
      first === undefined
        ? {
            type: serviceConditionType,
            status: 'True',
            reason: 'AddressAssigned',
            message: desiredIngress(service, keep).join(', '),
          }
        : {
            type: serviceConditionType,
            status: 'False',
            reason: first.reason,
            message: refused.map(({ family, detail }) => `${family}: ${detail}`).join('; '),
          };
    const before = service.condition === undefined ? [] : [service.condition];
    return dated(wanted, before, new Date(this.#o.clock.wallMs()).toISOString());
  }

  /** It is no longer of a type or class that we serve. */
  async #removeCondition(service: ClusterService): Promise<void> {
    this.#o.assertLeading();
    const { uid, resourceVersion } = service;
    const conditions = [{ $patch: 'delete', type: serviceConditionType }];
    await this.#patch(service, { metadata: { uid, resourceVersion }, status: { conditions } });
  }

  async #patch({ name, namespace }: ClusterService, body: object): Promise<void> {
    const { client, caches } = this.#o;
    const options = { type: 'strategic', subresource: 'status', namespace, body } as const;
    try {
      caches.services.put(await client.patch(services, name, options));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isNotFound) return;
      // The cache was behind; learn what is there, and let it be decided again.
      if (error.isConflict) await this.#look(`${namespace}/${name}`);
      throw error;
    }
  }

  async #giveBack(key: string): Promise<void> {
    const { free, replaced } = this.#decide(key, await this.#look(key));
    for (const one of free) await this.#release(key, one);
    for (const { old, by } of replaced) {
      // If not, the cache has just learnt so, and the Service is decided on again.
      if (await this.#o.writer.isStillHeld(by)) await this.#release(key, old);
    }
  }

  async #release(key: string, one: ServiceAddress): Promise<void> {
    await this.#o.writer.free(one);
    const fields = { reason: 'Released', service: key, address: `${one.address}` };
    this.#o.log.info(fields, `released ${one.address} of Service ${key}`);
  }

  /** What the API server itself says about the Service, past every cache. */
  async #look(key: string): Promise<ClusterService | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    const raw = await getIfThere(this.#o.client, services, name, { namespace });
    if (raw === undefined) return undefined;
    this.#o.caches.services.put(raw);
    return readService(raw);
  }
}
