/** Who can be pinged from where. */
import { eventually } from './eventually.ts';
import type { LabPod } from './folder.ts';
import type { Lab } from './lab.ts';
import { runInside } from './namespaces.ts';
import { isReachableFromOutside } from './topology.ts';

export async function isAnswering(namespace: string, address: string): Promise<boolean> {
  const { code } = await runInside(namespace, ['ping', '-n', '-q', '-c', '1', '-W', '1', address]);
  return code === 0;
}

/** Every pod answers from outside; where routers know no pods, every pod answers every other. */
export async function reachEverybody(lab: Lab, pods: readonly LabPod[] = lab.pods): Promise<void> {
  const outside = lab.namespace('outside');
  const isOutside = isReachableFromOutside(lab.topology);
  await Promise.all(
    pods.flatMap((pod) => {
      const from = isOutside
        ? [outside]
        : pods.filter((other) => other !== pod).map(({ namespace }) => namespace);
      return from.flatMap((namespace) =>
        pod.addresses.map((address) =>
          eventually(`${pod.name} (${address}) answers`, async () =>
            (await isAnswering(namespace, address)) ? true : undefined,
          ),
        ),
      );
    }),
  );
}
