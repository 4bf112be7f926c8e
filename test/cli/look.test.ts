/** The looking commands on one register in use, at one moment. */
import { describe, expect, test } from 'vitest';
import { runBuilt } from './built-command.ts';
import { fixture, run } from './collecting-terminal.ts';

const golden = (name: string) => `./golden/${name}.txt`;
const inRegister = ['--from', fixture('register')];
const inIncident = [
  ...['--from', fixture('incident')],
  ...['--ipam', 'cluster-pool', '--cluster-pool-ipv4-cidr', '10.5.112.0/21'],
];
const look = (line: string, where: string[]) => run([...line.split(' '), ...where]);
const json = async (line: string, where: string[]) =>
  JSON.parse((await look(`${line} -o json`, where)).stdout);

describe('what a person reads', () => {
  test.each([
    ['pools', 'pools', inRegister],
    ['pools -o wide', 'pools-wide', inRegister],
    ['blocks', 'blocks', inRegister],
    ['nodes', 'nodes', inRegister],
    ['nodes -o wide', 'nodes-wide', inIncident],
    ['explain a1', 'explain-node', inRegister],
    ['explain moved', 'explain-moved', inRegister],
    ['explain c2', 'explain-unselected', ['--from', fixture('racks')]],
    ['explain two', 'explain-refused', ['--from', fixture('overlapping-pools')]],
    ['explain new', 'explain-dual', ['--from', fixture('dual-stack')]],
    ['explain node1', 'explain-incident-node', inIncident],
    ['explain 10.5.112.0/24', 'explain-incident-block', inIncident],
    ['explain 10.5.83.70', 'explain-cooling', inRegister],
    ['explain rack-94', 'explain-pool', inRegister],
    ['explain 0.0.0.0/0', 'explain-everything', inRegister],
  ])('%s', async (line, name, where) => {
    const { code, stdout } = await look(line, where);
    expect(code).toBe(0);
    await expect(stdout).toMatchFileSnapshot(golden(name));
  });
});

describe('filters', () => {
  const names = async (line: string) =>
    (await look(`${line} -o name`, inRegister)).stdout.trim().split('\n');

  test.each([
    ['nodes -l rack=94', ['node/moved', 'node/small', 'node/fresh']],
    ['nodes --pool rack-83', ['node/a1', 'node/moved']],
    ['nodes --unserved', ['node/fresh']],
    ['nodes small a1', ['node/small', 'node/a1']],
    ['pools', ['ippool.cadastre.dev/rack-83', 'ippool.cadastre.dev/rack-94']],
    ['blocks --phase Cooling', ['nodeblock.cadastre.dev/10-5-83-64-26']],
    ['blocks --node moved', ['nodeblock.cadastre.dev/10-5-83-128-26']],
    ['blocks 10.5.83.128/26', ['nodeblock.cadastre.dev/10-5-83-128-26']],
    ['blocks 10.5.83.200', ['']],
    ['blocks 10-5-94-0-27', ['nodeblock.cadastre.dev/10-5-94-0-27']],
    [
      'blocks --pool rack-94',
      ['nodeblock.cadastre.dev/10-5-94-0-26', 'nodeblock.cadastre.dev/10-5-94-0-27'],
    ],
  ])('%s', async (line, wanted) => {
    expect(await names(line)).toEqual(wanted);
  });

  test.each([
    ['pools nope', 'there is no pool "nope"'],
    ['nodes nope', 'there is no node "nope"'],
    ['blocks 10.99.0.1', 'there is no block "10.99.0.1"'],
    ['explain nope', 'there is no node, pool, block, pod, Service or router called "nope"'],
    ['explain node/rack-83', 'there is no node called "rack-83"'],
    ['blocks --pool nope', '--pool=nope: there is no pool "nope"'],
    ['blocks --node nope', '--node=nope: there is no node "nope"'],
    ['nodes --pool nope', '--pool=nope: there is no pool "nope"'],
    ['migrate status nope', 'there is no node "nope"'],
  ])('%s fails, and prints no data', async (line, sentence) => {
    const { code, stdout, stderr } = await look(line, inRegister);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.split('\n')[0]).toBe(`cadastre: ${sentence}`);
  });
});

test.each([
  ['999.1.1.1', '"999.1.1.1" is not an IPv4 or IPv6 address'],
  ['10.0.0.0/33', '"10.0.0.0/33" has a prefix length beyond 32'],
  ['fd00::g', 'there is no node, pool, block, pod, Service or router called "fd00::g"'],
  ['fd00:::1', '"fd00:::1" is not an IPv4 or IPv6 address'],
])('explain %s says what is wrong with it', async (text, sentence) => {
  const { code, stdout, stderr } = await look(`explain ${text}`, inRegister);
  expect([code === 0, stdout]).toEqual([false, '']);
  expect(stderr.split('\n')[0]).toBe(`cadastre: ${sentence}`);
});

test.each([
  ['10.5.113.7', /Pod +default\/web-1\n/],
  ['default/web-1', /^Pod default\/web-1\n +Node +a\n +Address +10\.5\.113\.7\n/],
  ['pod/web-1', /Block +10\.5\.113\.0\/24/],
  ['tor1', /^Router tor1\n +Address +10\.4\.0\.1\n/],
])('explain %s names pods and routers', async (what, words) => {
  const objects = `
apiVersion: v1
kind: Node
metadata: { name: a, uid: u }
spec: { podCIDRs: [10.5.113.0/24] }
---
apiVersion: v1
kind: Pod
metadata: { name: web-1, namespace: default, uid: p }
spec: { nodeName: a, containers: [] }
status: { phase: Running, podIP: 10.5.113.7 }
---
apiVersion: cadastre.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1, uid: t }
spec: { address: 10.4.0.1, asn: 64524, localASN: 64513 }
`;
  const { stdout, code, stderr } = await run(['explain', what, '--from', '-'], objects);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(words);
});

test('blocks of a cluster-pool that the flags do not name: it is said, once, on stderr', async () => {
  const block = `apiVersion: cadastre.dev/v1alpha1
kind: NodeBlock
metadata: { name: 10-5-113-0-24 }
spec: { cidr: 10.5.113.0/24, pool: cluster-pool, node: { name: a, uid: u }, phase: Active }
---
apiVersion: v1
kind: Node
metadata: { name: a, uid: u }
`;
  const told = await run(['nodes', '--from', '-'], block);
  expect(told.stderr).toContain("give the operator's flags (--ipam cluster-pool");
  const flags = ['--ipam', 'cluster-pool', '--cluster-pool-ipv4-cidr', '10.5.112.0/21'];
  const known = await run(['nodes', '--from', '-', ...flags], block);
  expect([known.code, known.stderr]).toEqual([0, '']);
});

describe('what a program reads', () => {
  test('a pool, counted from the blocks', async () => {
    const { pools } = await json('pools rack-83', inRegister);
    expect(pools[0]).toMatchObject({
      name: 'rack-83',
      cidrs: [{ cidr: '10.5.83.0/24', capacity: 4, assigned: 2, free: 1, cooling: 1 }],
      nodeSelector: { matchLabels: { rack: '83' } },
      selectedNodes: 1,
      ready: true,
    });
  });

  test('a block that cools says since when and for how long', async () => {
    const { blocks } = await json('blocks 10.5.83.64/26', inRegister);
    expect(blocks).toEqual([
      {
        name: '10-5-83-64-26',
        cidr: '10.5.83.64/26',
        pool: 'rack-83',
        node: 'retired',
        nodeExists: false,
        phase: 'Cooling',
        since: '2026-01-31T12:00:00Z',
        next: 'is in cool-down for 31y more',
      },
    ]);
  });

  test('a node says what it holds, what it waits for and what its records say', async () => {
    const { nodes } = await json('nodes master1', inIncident);
    expect(nodes[0]).toMatchObject({
      blocks: [],
      state: 'Waiting',
      next: [{ cidr: '10.5.113.0/24', pool: 'cluster-pool', action: 'adopt' }],
      records: [
        { source: 'CiliumNode.spec.ipam.podCIDRs', cidrs: ['10.5.113.0/24'] },
        { source: 'Node.spec.podCIDRs', cidrs: ['10.5.112.0/24'] },
      ],
      findings: [{ reason: 'SourcesDisagree' }],
    });
  });

  test('an explanation of a node lists every pool with what stands in the way', async () => {
    const { pools, next } = await json('explain c2', ['--from', fixture('racks')]);
    expect(
      pools.map((pool: { pool: string; selects: boolean; unmet: string[] }) => [
        pool.pool,
        pool.selects,
        pool.unmet,
      ]),
    ).toEqual([
      ['anywhere', true, []],
      ['rack-83', false, ['wants rack=83, has rack=95']],
      ['rack-94', false, ['wants rack=94, has rack=95']],
      ['rack-95', false, ['wants no quarantine, has quarantine=yes']],
    ]);
    expect(next.blocks).toEqual([{ cidr: '10.5.0.0/26', pool: 'anywhere', action: 'assign' }]);
  });

  test('an explanation of an address names the block around it and its holder', async () => {
    const { subject, blocks, records, free } = await json('explain 10.5.94.7', inRegister);
    expect(subject).toEqual({ kind: 'Address', name: '10.5.94.7' });
    expect(blocks.map((block: { cidr: string; node: string }) => [block.cidr, block.node])).toEqual(
      [
        ['10.5.94.0/26', ''],
        ['10.5.94.0/27', 'small'],
      ],
    );
    expect(records).toEqual([
      { node: 'small', cidr: '10.5.94.0/27', source: 'Node.spec.podCIDRs' },
    ]);
    expect(free).toBe(false);
  });

  test.each([
    ['explain 10.4.83.11', 'it is not ours to give'],
    ['explain 10.5.95.0/26', 'it is free'],
    ['explain 172.16.0.1', 'it lies in no pool'],
  ])('%s: %s', async (line, words) => {
    expect((await look(line, inRegister)).stdout).toContain(`  ${words}\n`);
  });

  test('mode kubernetes: the holder is whom the records name', async () => {
    const argv = ['explain', '10.5.112.9', '--from', fixture('incident'), '--ipam', 'kubernetes'];
    expect((await run(argv)).stdout).toContain('10.5.112.0/24  master1  by its records');
  });
});

test('the built command answers the same', async () => {
  const argv = ['explain', 'moved', ...inRegister];
  const [built, here] = await Promise.all([runBuilt(argv), run(argv)]);
  expect(built).toEqual(here);
});
