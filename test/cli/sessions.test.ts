/** The commands about sessions, routes and addresses, by the NodeReports of two nodes. */
import { expect, test } from 'vitest';
import { fixture, run } from './collecting-terminal.ts';

const from = ['--from', fixture('sessions')];
const look = (line: string) => run([...line.split(' '), ...from]);
const json = async (line: string) => JSON.parse((await look(`${line} -o json`)).stdout);

test.each([
  ['status --cluster', 'status-cluster', 0],
  ['bgp peers', 'bgp-peers', 1],
  ['bgp peers -o wide', 'bgp-peers-wide', 1],
  ['bgp peers --node master2', 'bgp-peers-node', 0],
  ['bgp routes', 'bgp-routes', 0],
  ['bgp routes --node master1 --family ipv6', 'bgp-routes-v6', 0],
  ['bgp routes 10.6.0.1/32 --peer 10.4.94.248', 'bgp-routes-prefix', 0],
  ['ipam show', 'ipam-show', 0],
  ['ipam show --show-blocks', 'ipam-show-blocks', 0],
  ['ipam show --node master1', 'ipam-show-node', 0],
  ['ipam show 10.6.0.1', 'ipam-show-service', 0],
  ['ipam show 10.5.113.7', 'ipam-show-pod', 0],
  ['ipam show --ip 10.5.119.7', 'ipam-show-free', 1],
  ['ipam show 10.4.94.32', 'ipam-show-host', 0],
  ['ipam show 192.0.2.1', 'ipam-show-outside', 1],
])('%s', async (line, name, wanted) => {
  const { code, stdout, stderr } = await look(line);
  expect([code, stderr]).toEqual([wanted, '']);
  await expect(stdout).toMatchFileSnapshot(`./golden/${name}.txt`);
});

test('as JSON', async () => {
  const { sessions } = await json('bgp peers');
  expect(sessions.map(({ node, peer, state }: never) => [node, peer, state])).toEqual([
    ['master1', 'tor1', 'Established'],
    ['master1', 'tor2', 'Active'],
    ['master2', 'tor1', 'Established'],
  ]);
  expect((await json('bgp routes 10.5.113.0/24')).routes).toMatchObject([
    { node: 'master1', peer: 'tor1', prefix: '10.5.113.0/24', nextHop: '10.4.94.32' },
  ]);
  expect((await json('ipam show')).usage[0]).toEqual({
    grouping: 'IP Pool',
    name: 'pods',
    cidr: '10.5.112.0/21',
    total: '2024',
    inUse: '269',
    free: '1755',
    node: '',
  });
  expect(await json('ipam show 10.6.0.1')).toMatchObject({
    isHeld: true,
    attributes: { service: 'shop/front', pool: 'web' },
  });
});

test.each([
  ['bgp peers --node nobody', 'there is no NodeReport of a node called "nobody"'],
  ['bgp routes --family ipx', "argument 'ipx' is invalid"],
  ['ipam show 10.5.113', '"10.5.113" is not an IP address'],
])('%s is refused', async (line, words) => {
  const { code, stdout, stderr } = await look(line);
  expect(code).toBeGreaterThan(0);
  expect(stdout).toBe('');
  expect(stderr).toContain(words);
});

test('a socket without an agent says what to do', async () => {
  const { code, stderr } = await run(['bgp', 'peers', '--socket', '/nowhere/agent.sock']);
  expect(code).toBe(1);
  expect(stderr).toContain('the agent at /nowhere/agent.sock does not answer');
});
