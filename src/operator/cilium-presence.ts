import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { ifFound } from '../kube/get-if-there.ts';
import { ciliumNodes } from '../model/resources.ts';
import type { OperatorSettings } from './operator-settings.ts';

interface CiliumPresenceOptions {
  client: KubeClient;
  settings: Pick<OperatorSettings, 'switches' | 'sources' | 'intervals'>;
  log: Log;
}

/**
 * Whether CiliumNodes are read and written. Cilium registers its resources itself,
 * and may well be installed after us: what is not there when we start is looked for
 * until it is, because Cilium's agents wait for exactly what we write there.
 */
export class CiliumPresence {
  readonly #o: CiliumPresenceOptions;
  #isUsed = false;

  constructor(options: CiliumPresenceOptions) {
    this.#o = options;
  }

  /** The cluster has them, we want them, and (but for the first moment of a start) know them all. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  get #isWanted(): boolean {
    const { switches, sources } = this.#o.settings;
    return switches.ciliumNode || switches.ciliumPools || sources.includes('ciliumnode');
  }

  /** At the start: those that are there are listed with everything else. */
  async look(): Promise<void> {
    const { client, settings, log } = this.#o;
    this.#isUsed = this.#isWanted && (await hasCiliumNodes(client));
    if (!this.#isWanted || this.#isUsed) return;
    const message =
      'the CiliumNode CRD is not registered; CiliumNodes are neither read nor written until it is';
    if (settings.switches.ciliumNode || settings.switches.ciliumPools) log.warn({}, message);
    else log.debug?.({}, message);
  }

  /** Calls back once, when they have come later and the cache knows them all. Never throws. */
  async untilUsed(
    cache: { start(signal: AbortSignal): void; synced: Promise<void>; size: number },
    signal: AbortSignal,
    onUsed: () => void,
  ): Promise<void> {
    if (!this.#isWanted || this.#isUsed) return;
    await this.#untilThere(signal);
    if (signal.aborted) return;
    cache.start(signal);
    await cache.synced.catch(() => {});
    if (signal.aborted) return;
    this.#isUsed = true;
    this.#o.log.info(
      { nodes: cache.size },
      'the CiliumNode CRD is registered now; CiliumNodes are read and written',
    );
    onUsed();
  }

  async #untilThere(signal: AbortSignal): Promise<void> {
    const { client, settings, log } = this.#o;
    while (!signal.aborted) {
      await pause(settings.intervals.ciliumNodesMs, signal);
      try {
        if (!signal.aborted && (await hasCiliumNodes(client))) return;
      } catch (error) {
        log.debug?.(
          { error: describeError(error) },
          'could not look for the CiliumNode CRD; trying again',
        );
      }
    }
  }
}

export async function hasCiliumNodes(client: KubeClient): Promise<boolean> {
  const { plural, group, version } = ciliumNodes;
  const served = (await ifFound(client.rawGet(`/apis/${group}/${version}`))) as
    | { resources?: { name: string }[] }
    | undefined;
  return served?.resources?.some(({ name }) => name === plural) ?? false;
}
