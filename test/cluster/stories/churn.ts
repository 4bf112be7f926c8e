/** Pods come and go, and nothing of them stays; two hundred in `npm run soak -- pods`. */
import { describe, expect, test } from 'vitest';
import { agnhostImage } from '../../../src/lab/kubelets/images.ts';
import { type Cluster, whenTrue } from '../cluster.ts';
import { smallNode } from '../installed.ts';
import { tracesOnEach } from '../node-traces.ts';

interface NodeReport {
  metadata: { name: string };
  status: { blocks: Array<{ cidr: string; pods: number }> };
}

const pods = Number(process.env.CADASTRE_PODS ?? 60);

const job = `apiVersion: batch/v1
kind: Job
metadata: { name: many }
spec:
  completions: ${pods}
  parallelism: 40
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - { key: kubernetes.io/hostname, operator: NotIn, values: [${smallNode}] }
      containers:
        - { name: one, image: "${agnhostImage}", command: ["true"] }
`;

export function churnStories(cluster: () => Cluster): void {
  describe(`${pods} pods come and go`, () => {
    test('addresses, interfaces, namespaces, routes and files are as before', async () => {
      const nodes = cluster().nodes.filter((node) => node !== smallNode);
      const before = await tracesOnEach(cluster(), nodes);
      const addressesBefore = await addressesInUse(cluster(), nodes);
      const from = performance.now();
      await cluster().apply(job);
      await cluster().kubectl(['wait', '--for=condition=Complete', 'job/many', '--timeout=600s']);
      await cluster().kubectl(['delete', 'job', 'many', '--cascade=foreground', '--timeout=300s']);
      console.log(`${pods} pods in ${((performance.now() - from) / 1000).toFixed(0)} s`);
      await whenTrue(async () => expect(await tracesOnEach(cluster(), nodes)).toEqual(before));
      await whenTrue(async () =>
        expect(await addressesInUse(cluster(), nodes)).toEqual(addressesBefore),
      );
    }, 900_000);
  });
}

/** `BLOCK PODS` by the agents' reports. */
async function addressesInUse(cluster: Cluster, nodes: readonly string[]): Promise<string[]> {
  const { items } = await cluster.get<{ items: NodeReport[] }>('nodereports', ...nodes);
  return items.flatMap(({ status }) => status.blocks.map(({ cidr, pods }) => `${cidr} ${pods}`));
}
