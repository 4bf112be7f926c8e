import { expect, test } from 'vitest';
import { along, planOf, shapesOf, wayOf } from './story-geometry.ts';

const row = {
  routers: ['r238', 'r239'].map((name) => ({
    ...{ name, address: '', asn: 1, sessions: [], routes: [] },
  })),
  nodes: ['master1', 'master2', 'master3', 'node1'].map((name) => ({
    ...{ name, address: '', block: '', spec: '', state: 'serving' as const },
  })),
};

test.each([false, true])(
  'no two boxes of a row touch, and all are on the sheet (narrow: %s)',
  (narrow) => {
    const shapes = shapesOf(narrow);
    const plan = planOf(row, shapes);
    for (const [places, box] of [
      [plan.routers, shapes.router],
      [plan.nodes, shapes.node],
      [plan.pods, shapes.pod],
    ] as const) {
      const edges = [...places.values()].flatMap(({ x }) => [x - box.width / 2, x + box.width / 2]);
      expect(edges).toEqual([...edges].sort((a, b) => a - b));
      expect(Math.min(...edges)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...edges)).toBeLessThanOrEqual(shapes.sheet.width);
    }
  },
);

test('a ping goes from outside through its machines to the pod', () => {
  const plan = planOf(row, shapesOf(false));
  const way = wayOf(plan, { hops: ['r238', 'master2'], way: 'straight', node: 'master2' });
  expect(way).toEqual([
    plan.outside,
    plan.routers.get('r238'),
    plan.nodes.get('master2'),
    plan.pods.get('master2'),
  ]);
  expect(along(way, 0).at).toEqual(plan.outside);
  expect(along(way, 1).at).toEqual(plan.pods.get('master2'));
});

test('on a detour everything after the wrong node is marked', () => {
  const plan = planOf(row, shapesOf(false));
  const way = wayOf(plan, { hops: ['r238', 'node1', 'master2'], way: 'detour', node: 'master2' });
  expect(way.map(({ isDetour }) => isDetour === true)).toEqual([
    ...[false, false, false],
    ...[true, true, true],
  ]);
});

test('a lost ping ends in sight, below the machine that has no route', () => {
  const shapes = shapesOf(false);
  const plan = planOf(row, shapes);
  const way = wayOf(plan, { hops: ['r239'], way: 'lost', node: 'master2' });
  const router = plan.routers.get('r239')!;
  expect(along(way, 1).at.x).toBe(router.x);
  expect(along(way, 1).at.y).toBeGreaterThan(router.y + shapes.router.height / 2);
});
