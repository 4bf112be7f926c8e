import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { crdResource, ensureCrds } from '../kube/crds.ts';
import type { EventRecorder } from '../kube/events.ts';
import { ifFound } from '../kube/get-if-there.ts';
import { revisionAnnotation } from '../model/crd.ts';
import { crds } from '../model/crds.ts';
import { group, version } from '../model/keys.ts';
import type { Reason } from '../model/reasons.ts';
import { untilDone } from './until-done.ts';

type Definition = (typeof crds)[number];

interface DefinitionKeeperOptions {
  client: KubeClient;
  events: Pick<EventRecorder, 'record'>;
  log: Log;
  everyMs: number;
  /** Somebody else registers and upgrades them; here they are only waited for. */
  isReadOnly: boolean;
}

/**
 * Registers the custom resources, and registers one again that somebody deletes. One
 * small request asks which of them are served: no watch of every definition in the
 * cluster, and no right to one. Every replica does it, as every replica registers them
 * at its start; only one of them creates a definition, and that one says so. With
 * `isReadOnly` (`--crds=await`) it has no right to register any, and waits for who does.
 */
export class DefinitionKeeper {
  readonly #o: DefinitionKeeperOptions;
  #missing: readonly string[] = crds.map(({ metadata }) => metadata.name);

  constructor(options: DefinitionKeeperOptions) {
    this.#o = options;
  }

  /** Names of the definitions that the API server did not serve when it was last asked. */
  get missing(): readonly string[] {
    return this.#missing;
  }

  /** Each for itself: with a server that fails now and then, all at once would hardly ever do. */
  async register(signal: AbortSignal): Promise<void> {
    await Promise.all(crds.map((crd) => this.#untilRegistered(crd, signal)));
    this.#missing = [];
  }

  /** After `register`, until the signal aborts. Never throws. */
  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#o.everyMs, signal);
      if (signal.aborted) return;
      try {
        await this.#restore(signal);
      } catch (error) {
        if (signal.aborted) return;
        const fields = { error: describeError(error) };
        this.#o.log.debug?.(fields, 'could not ask which resource definitions are registered');
      }
    }
  }

  async #restore(signal: AbortSignal): Promise<void> {
    const served = await this.#served(signal);
    const missing = crds.filter(({ spec }) => !served.has(spec.names.plural));
    this.#missing = missing.map(({ metadata }) => metadata.name);
    for (const crd of missing) {
      const { name } = crd.metadata;
      const then = this.#o.isReadOnly ? 'waiting for it' : 'registering it again';
      this.#o.log.warn({ resource: name }, `${name} is not registered any more; ${then}`);
      const created = await this.#untilRegistered(crd, signal);
      this.#missing = this.#missing.filter((one) => one !== name);
      for (const uid of created) this.#report(name, uid);
    }
  }

  async #served(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const path = `/apis/${group}/${version}`;
    const answer = (await ifFound(this.#o.client.rawGet(path, { signal }))) as
      | { resources?: { name: string }[] }
      | undefined;
    return new Set(answer?.resources?.map(({ name }) => name));
  }

  /** The uid of the definition if it was created here. */
  async #untilRegistered(crd: Definition, signal: AbortSignal): Promise<string[]> {
    const { client, log, isReadOnly } = this.#o;
    const created: string[] = [];
    await untilDone(
      isReadOnly ? `find ${crd.metadata.name}` : `register ${crd.metadata.name}`,
      async (attempt) => {
        const onCreated = (uid: string) => created.push(uid);
        // Whoever waits for another says soon what is missing.
        const timeoutMs = isReadOnly ? 1_000 : undefined;
        const options = { signal: attempt, revisionAnnotation, onCreated, isReadOnly, timeoutMs };
        await ensureCrds(client, [crd], log, options);
      },
      { signal, log },
    );
    return created;
  }

  #report(name: string, uid: string): void {
    const reason: Reason = 'ResourceDefinitionRestored';
    const message = `${name} was deleted, and all objects of it with it; it is registered again`;
    this.#o.log.warn({ resource: name, reason }, message);
    const { kind } = crdResource;
    this.#o.events.record({
      object: { apiVersion: `${crdResource.group}/${crdResource.version}`, kind, name, uid },
      type: 'Warning',
      reason,
      message,
    });
  }
}
