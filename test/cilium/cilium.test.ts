/**
 * The shortest way through the real Cilium: two nodes, the handover, a restart. All of it is
 * `npm run soak -- cilium`.
 */
import { expect, test } from 'vitest';
import { builtCilium } from '../../scripts/cilium.mjs';
import { Stage } from './stage.ts';
import { ciliumNodes, handOver, restartAgents } from './steps.ts';

test('Cadastre takes over from cilium-operator: blocks, pods and routes stay, also over a restart of agents', async () => {
  const cilium = builtCilium();
  if (cilium === undefined) throw new Error('Cilium is not built: npm run soak -- cilium');
  const steps = [ciliumNodes(2), handOver(), restartAgents];
  const scenario = { name: 'short', mode: 'cluster-pool', steps } as const;
  const played = await Stage.play(scenario, cilium, () => {});
  expect(played.failures).toEqual([]);
  expect(played.pings.sent).toBeGreaterThan(0);
}, 600_000);
