import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { ciliumNodes } from '../model/resources.ts';

/**
 * Whether the cluster has CiliumNodes. Cilium registers its resources itself, and
 * may well be installed after us: what is not there when we start is looked for
 * until it is, because Cilium's agents wait for exactly what we write there.
 */
export async function hasCiliumNodes(client: KubeClient): Promise<boolean> {
  const { plural, group, version } = ciliumNodes;
  try {
    const served = (await client.rawGet(`/apis/${group}/${version}`)) as {
      resources?: { name: string }[];
    };
    return served.resources?.some(({ name }) => name === plural) ?? false;
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return false;
    throw error;
  }
}

const usualEveryMs = 5_000;

/** True once they are there; false when the signal aborts before. Never throws. */
export async function untilCiliumNodes(
  client: KubeClient,
  log: Log,
  signal: AbortSignal,
  everyMs = usualEveryMs,
): Promise<boolean> {
  for (;;) {
    await pause(everyMs, signal);
    if (signal.aborted) return false;
    try {
      if (await hasCiliumNodes(client)) return true;
    } catch (error) {
      log.debug({ error: describeError(error) }, 'could not look for CiliumNodes; trying again');
    }
  }
}
