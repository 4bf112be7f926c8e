import { expect, test } from 'vitest';
import { poolObject, registerOf } from '../../../test/register/objects.ts';
import { DemandingNode } from '../../../test/simulation/demanding-node.ts';

// 104 pods of /28 and 8 of /30 were the end while the operator counted the gateways as room.
test.each([
  [28, 8, 105],
  [28, 8, 400],
  [30, 8, 9],
  [30, 8, 60],
  [24, 1, 260],
  [24, 0, 260],
  [31, 8, 60],
  [32, 8, 60],
])(
  'blocks of /%i, %i addresses kept ready: all of %i pods are served',
  (size, preAllocate, pods) => {
    const register = registerOf([poolObject('p', { cidrs: ['10.0.0.0/20'], size })]);
    expect(new DemandingNode(register, 'n', preAllocate).runAll(pods, ['ipv4'])).toBe(pods);
  },
);

test('a node that was full has room again as soon as its demand is met, and so is sent more pods', () => {
  const register = registerOf([poolObject('p', { cidrs: ['10.0.0.0/20'], size: 28 })]);
  const node = new DemandingNode(register, 'n', 1);
  expect(node.runAll(400, ['ipv4'], true)).toBe(400);
});
