import { expect, test } from 'vitest';
import { cutRules } from './cuts.ts';

const neighbours = ['02:00:00:00:00:01', '02:00:00:00:00:02'];
const chains = (rules: string) =>
  [...rules.matchAll(/chain (\w+) \{.*device "(\w+)".*; (.*); \}/g)].map(
    ([, name, link, rule]) => `${name} ${link}: ${rule}`,
  );

test('a cut replaces the one before it, and one of nothing heals', () => {
  const fresh = 'add table netdev cadastre_lab_cut\ndelete table netdev cadastre_lab_cut\n';
  expect(cutRules({ fromApiServer: false, fromRouters: false }, neighbours)).toBe(fresh);
  expect(cutRules({ fromApiServer: true, fromRouters: true }, neighbours)).toMatch(
    new RegExp(`^${fresh}`),
  );
});

test('from the API server: everything on its own interface, both ways', () => {
  const rules = cutRules({ fromApiServer: true, fromRouters: false }, neighbours);
  expect(chains(rules)).toEqual(['api_in mgmt0: drop', 'api_out mgmt0: drop']);
});

test('from the routers: only nodes of the same subnet are heard and spoken to', () => {
  const rules = cutRules({ fromApiServer: false, fromRouters: true }, neighbours);
  expect(chains(rules)).toEqual([
    `routers_in eth0: ether saddr != { ${neighbours.join(', ')} } drop`,
    `routers_out eth0: ether daddr != { ${neighbours.join(', ')}, ff:ff:ff:ff:ff:ff, 33:33:00:00:00:00-33:33:ff:ff:ff:ff } drop`,
  ]);
});

test('without a neighbour nobody is heard', () => {
  const rules = cutRules({ fromApiServer: false, fromRouters: true }, []);
  expect(chains(rules)[0]).toBe('routers_in eth0: drop');
});
