/** A node whose block is full: it stays Ready and keeps its pods, and the pod that is too many waits. */
import { describe, expect, test } from 'vitest';
import { agnhostImage } from '../../../src/lab/kubelets/images.ts';
import { type Cluster, whenTrue } from '../cluster.ts';
import { type Pod, podsOf, smallNode } from '../installed.ts';
import { conditionOf, readySince } from '../nodes-stay-ready.ts';

const replicas = 16;

const fill = `apiVersion: apps/v1
kind: Deployment
metadata: { name: fill }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: fill } }
  template:
    metadata: { labels: { app: fill } }
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: { kubernetes.io/hostname: ${smallNode} }
      containers: [{ name: pause, image: "${agnhostImage}" }]
`;

interface Event {
  message: string;
  involvedObject: { name: string };
}

export function fullBlockStories(cluster: () => Cluster): void {
  describe('a node whose block is full', () => {
    test('stays Ready, and the pods that find no address wait with an Event that says why', async () => {
      const ready = await readySince(cluster());
      const residents = await podsOf(cluster(), 'web');
      await cluster().apply(fill);
      const waiting = await whenTrue(async () => {
        const onNode = ['--field-selector', `spec.nodeName=${smallNode}`];
        const { items } = await cluster().get<{ items: Pod[] }>('pods', ...onNode);
        const pending = items.filter(({ status }) => status.phase === 'Pending');
        // Of 16 addresses 13 are for pods: not the first two, and not the last one.
        const running = items.filter(({ status }) => status.phase === 'Running');
        expect(running).toHaveLength(13);
        expect(pending).toHaveLength(items.length - 13);
        return pending;
      });
      expect(waiting.length).toBeGreaterThan(0);
      await whenTrue(async () => {
        const failures = ['--field-selector', 'reason=FailedCreatePodSandBox'];
        const { items } = await cluster().get<{ items: Event[] }>('events', ...failures);
        for (const { metadata } of waiting) {
          const mine = items.find(({ involvedObject }) => involvedObject.name === metadata.name);
          expect(mine?.message).toContain('no free IPv4 address in 10.5.120.0/28');
        }
      });
      await whenTrue(async () =>
        expect(await conditionOf(cluster(), smallNode, 'CadastrePodAddressesFree')).toMatchObject({
          status: 'False',
          reason: 'BlockFull',
        }),
      );
      expect(await readySince(cluster())).toEqual(ready);
      expect((await podsOf(cluster(), 'web')).map(({ metadata }) => metadata.uid)).toEqual(
        residents.map(({ metadata }) => metadata.uid),
      );
    }, 600_000);
  });
}

/** Later: an address is given again half a minute after its pod has gone. */
export function emptiedBlockStories(cluster: () => Cluster): void {
  test('a node whose block was full all the time kept its pods, and is not full when others go', async () => {
    const { items } = await cluster().get<{ items: Event[] }>(
      ...['events', '--field-selector', 'reason=TaintManagerEviction'],
    );
    // A kubelet that is late on a busy machine is followed by a "Cancelling deletion": nobody went.
    expect(items.filter(({ message }) => !message.startsWith('Cancelling deletion'))).toEqual([]);
    await cluster().kubectl(['delete', 'deployment', 'fill']);
    await whenTrue(async () => {
      const free = await conditionOf(cluster(), smallNode, 'CadastrePodAddressesFree');
      expect(free?.status).not.toBe('False');
    });
  }, 300_000);
}
