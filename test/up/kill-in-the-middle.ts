/**
 * Writes objects as fast as they are acknowledged, kills `up` in the middle, and
 * starts it again: whatever was answered with success must be there. A write that
 * got no answer may be there or not.
 */
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import { configMaps } from '../../src/model/resources.ts';
import { seed } from '../parts/random.ts';
import { seededRandom } from '../parts/seeded-random.ts';
import type { UpProcess } from './up-process.ts';

export interface Told {
  acknowledged: number;
  lost: string[];
}

const namespace = 'default';
const writers = 4;

export async function killInTheMiddle(
  up: UpProcess,
  kills: number,
  onKill: (n: number, acknowledged: number) => void = () => {},
): Promise<Told> {
  /** Name → the newest value that was acknowledged. */
  const acknowledged = new Map<string, number>();
  const lost: string[] = [];
  const random = seededRandom(seed);
  let total = 0;
  for (let round = 0; round < kills; round++) {
    const client = new KubeClient(await loadKubeConfig({ kubeconfig: up.kubeconfigPath }));
    let isOver = false;
    let lastError: unknown;
    const write = async (writer: number) => {
      for (let n = 1; !isOver; n++) {
        // New objects, and the same one again and again: both must last.
        const name = n % 2 === 0 ? `kill-${writer}` : `kill-${round}-${writer}-${n}`;
        const value = round * 1_000_000 + n;
        const object = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, namespace },
          data: { value: String(value) },
        };
        try {
          if (acknowledged.has(name)) {
            const body = { data: { value: String(value) } };
            await client.patch(configMaps, name, { type: 'merge', body, namespace, retries: 0 });
          } else {
            await client.create(configMaps, object, { namespace, retries: 0 });
          }
          acknowledged.set(name, value);
          total++;
        } catch (error) {
          lastError = error;
          // No answer, or a name that an unanswered write of an earlier round made.
          if (!isOver) acknowledged.set(name, acknowledged.get(name) ?? 0);
        }
      }
    };
    const writing = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    const enough = total + 20 + Math.floor(random() * 60);
    for (let waited = 0; total < enough; waited++) {
      if (waited > 10_000) throw new Error('nothing is acknowledged', { cause: lastError });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const killed = up.kill9AndStart();
    isOver = true;
    await Promise.all([killed, writing]);
    await client.close();
    lost.push(...(await missing(up, acknowledged)));
    onKill(round + 1, total);
  }
  return { acknowledged: total, lost };
}

async function missing(
  up: UpProcess,
  acknowledged: ReadonlyMap<string, number>,
): Promise<string[]> {
  const client = new KubeClient(await loadKubeConfig({ kubeconfig: up.kubeconfigPath }));
  try {
    const { items } = await client.list<{ metadata: { name: string }; data?: { value?: string } }>(
      configMaps,
      { namespace },
    );
    const held = new Map(items.map(({ metadata, data }) => [metadata.name, Number(data?.value)]));
    return [...acknowledged]
      .filter(([name, value]) => value > 0 && !((held.get(name) ?? -1) >= value))
      .map(([name, value]) => `${name}: ${value} was acknowledged, ${held.get(name)} is there`);
  } finally {
    await client.close();
  }
}
