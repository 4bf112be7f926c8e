/**
 * The shortest way through the real Cilium: two nodes, the handover, a restart. All of it is
 * `npm run soak -- cilium`.
 */
import { expect, test } from 'vitest';
import { builtCilium } from '../../scripts/cilium.mjs';
import { handOver, whenHeld } from './scenarios.ts';
import { Stage } from './stage.ts';

test('Cadastre takes over from cilium-operator: blocks, pods and routes stay, also over a restart of an agent', async () => {
  const cilium = builtCilium();
  if (cilium === undefined) throw new Error('Cilium is not built: npm run soak -- cilium');
  const played = await Stage.play(
    {
      name: 'short',
      mode: 'cluster-pool',
      async play(stage) {
        const { cluster } = stage;
        await stage.standardCluster(2);
        const before = await cluster.blocks();
        await handOver(stage);
        await whenHeld(stage, before);
        await stage.checkAll('handover');
        await cluster.machine('n1').restartAgent(cluster.config);
        await stage.checkAll('agent restarted');
        expect(await cluster.blocks()).toEqual(before);
      },
    },
    cilium,
    () => {},
  );
  expect(played.failures).toEqual([]);
  expect(played.pings.sent).toBeGreaterThan(0);
}, 180_000);
