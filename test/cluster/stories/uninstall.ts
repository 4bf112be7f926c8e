/** Cadastre is uninstalled as docs/install.md says: the nodes are as they were, and pods that run keep running. */
import { describe, expect, test } from 'vitest';
import { type Cluster, whenTrue } from '../cluster.ts';
import { chart, podsOf } from '../installed.ts';
import { tracesOnEach } from '../node-traces.ts';
import type { Node } from '../nodes-stay-ready.ts';

export function uninstallStories(cluster: () => Cluster): void {
  describe('uninstall', () => {
    test('leaves no configuration, plugin, route, table or condition; pods answer to their nodes', async () => {
      const pods = await podsOf(cluster(), 'web');
      await cluster().helm([
        ...['upgrade', 'cadastre', chart, '--namespace', 'kube-system', '--reuse-values'],
        ...['--set', 'uninstall.cleanNodes=true', '--wait', '--timeout', '5m'],
      ]);
      const removal = ['uninstall', 'cadastre', '--namespace', 'kube-system', '--wait'];
      await cluster().helm([...removal, '--timeout', '5m']);
      await whenTrue(async () => {
        for (const [node, { plugins, routes, tables, files }] of Object.entries(
          await tracesOnEach(cluster()),
        )) {
          const left = [...plugins, ...routes, ...tables].filter((line) =>
            /cadastre|proto 83/.test(line),
          );
          const running = files.filter((file) => file.startsWith('run/cadastre'));
          expect({ node, left, running }).toEqual({ node, left: [], running: [] });
        }
      });
      const { items } = await cluster().get<{ items: Node[] }>('nodes');
      const ours = items.flatMap(({ metadata, spec, status }) => [
        ...status.conditions.map(({ type }) => type),
        ...(spec.taints ?? []).map(({ key }) => key),
        ...Object.keys(metadata.annotations ?? {}),
      ]);
      expect(ours.filter((name) => /cadastre/i.test(name))).toEqual([]);
      for (const { spec, status } of pods) {
        for (const { ip } of status.podIPs!) {
          const ping = ['ping', '-n', '-c', '1', '-W', '10', ip];
          expect(await cluster().exec(spec.nodeName, ping)).toMatchObject({ code: 0 });
        }
      }
      // Helm does not wait for pods.
      await whenTrue(async () => {
        const left = await cluster().kubectl([
          ...['get', 'all,configmaps,clusterroles,clusterrolebindings', '-A', '-o', 'name'],
        ]);
        expect(left.split('\n').filter((name) => name.includes('cadastre'))).toEqual([]);
      });
    }, 600_000);
  });
}
