/**
 * The dry run as a person runs it, on saved objects. Tables are compared whole,
 * with the files in golden/: they are what people read.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { root, runBuilt } from './built-command.ts';

const from = (name: string) => ['--from', `test/cli/fixtures/${name}`];
const clusterPool = ['--ipam', 'cluster-pool', '--cluster-pool-ipv4-cidr', '10.5.112.0/21'];
const golden = (name: string) => `${root}/test/cli/golden/${name}.txt`;

interface Plan {
  nodes: Array<{
    name: string;
    blocks: Array<{ cidr: string; pool: string; action: string }>;
    refused: Array<{ family: string; reason: string; detail: string }>;
  }>;
  pools: Array<{ name: string; capacity: number; assigned: number; free: number }>;
  findings: Array<{ reason: string; nodes: string[]; cidr: string; detail: string }>;
}

async function plan(...argv: string[]): Promise<Plan & { code: number }> {
  const { code, stdout } = await runBuilt(['plan', ...argv, '-o', 'json']);
  return { code, ...(JSON.parse(stdout) as Plan) };
}

const blocksOf = ({ nodes }: Plan) =>
  Object.fromEntries(nodes.map(({ name, blocks }) => [name, blocks.map(({ cidr }) => cidr)]));

describe('the incident', () => {
  test('takes over what the pods use, and says for each node that Node.spec disagrees', async () => {
    const found = await plan(...from('incident'), ...clusterPool);
    expect(found.code).toBe(0);
    expect(blocksOf(found)).toEqual({
      master1: ['10.5.113.0/24'],
      master2: ['10.5.115.0/24'],
      master3: ['10.5.114.0/24'],
      node1: ['10.5.112.0/24'],
    });
    expect(new Set(found.nodes.flatMap(({ blocks }) => blocks.map((b) => b.action)))).toEqual(
      new Set(['adopt']),
    );
    expect(found.findings.map(({ reason, nodes }) => [reason, ...nodes])).toEqual([
      ['SourcesDisagree', 'master1'],
      ['SourcesDisagree', 'master2'],
      ['SourcesDisagree', 'master3'],
      ['SourcesDisagree', 'node1'],
    ]);
    expect(found.pools).toEqual([{ name: 'cluster-pool', capacity: 8, assigned: 4, free: 4 }]);
  });

  test('is the documented JSON, field by field', async () => {
    const { stdout } = await runBuilt(['plan', ...from('incident'), ...clusterPool, '-o', 'json']);
    await expect(stdout).toMatchFileSnapshot(golden('incident-json'));
  });

  test('reads well', async () => {
    const { stdout, stderr } = await runBuilt(['plan', ...from('incident'), ...clusterPool]);
    await expect(stdout).toMatchFileSnapshot(golden('incident'));
    expect(stderr).toBe('4 of 4 nodes served, 4 findings; nothing was changed.\n');
  });

  test('believes Node.spec when told to, and finds the same four disagreements', async () => {
    const found = await plan(
      ...from('incident'),
      ...clusterPool,
      '--adopt-from',
      'spec,ciliumnode',
    );
    expect(blocksOf(found).node1).toEqual(['10.5.115.0/24']);
    expect(found.findings.map(({ reason }) => reason)).toEqual(Array(4).fill('SourcesDisagree'));
  });

  test('in mode kubernetes keeps what Node.spec says, allocates nothing and says so', async () => {
    const argv = ['plan', ...from('incident'), '--ipam', 'kubernetes', '-o', 'json'];
    const { code, stdout, stderr } = await runBuilt(argv);
    const found = JSON.parse(stdout) as Plan;
    expect(code).toBe(0);
    expect(stderr).toContain('Mode kubernetes allocates nothing');
    expect(found.nodes[3]).toEqual({
      name: 'node1',
      blocks: [{ cidr: '10.5.115.0/24', pool: '', action: 'keep' }],
      refused: [],
    });
    expect(found.pools).toEqual([]);
    expect(found.findings).toHaveLength(4);
  });
});

describe('pools', () => {
  test.each(['racks', 'dual-stack', 'exhausted', 'duplicates', 'overlapping-pools', 'register'])(
    'the plan for %s reads well',
    async (name) => {
      const { stdout } = await runBuilt(['plan', ...from(name)]);
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
      await expect(stdout).toMatchFileSnapshot(golden(name));
    },
  );

  test('each rack is served from its own range, the rest from anywhere', async () => {
    const found = await plan(...from('racks'));
    expect(found.code).toBe(0);
    expect(found.nodes.map(({ name }) => name)).toEqual(['a1', 'b1', 'c1', 'c2', 'a2']);
    expect(blocksOf(found)).toEqual({
      a1: ['10.5.83.0/26'],
      b1: ['10.5.94.0/26'],
      c1: ['10.5.95.0/26'],
      c2: ['10.5.0.0/26'],
      a2: ['10.5.83.64/26'],
    });
  });

  test('two families come together', async () => {
    const found = await plan(...from('dual-stack'));
    expect(blocksOf(found)).toEqual({
      old: ['10.7.3.0/24', 'fd00:7:0:3::/64'],
      new: ['10.7.0.0/24', 'fd00:7::/64'],
    });
  });

  test('only the families that are switched on', async () => {
    const found = await plan(...from('dual-stack'), '--enable-ipv6=false');
    expect(blocksOf(found).new).toEqual(['10.7.0.0/24']);
  });

  test('a full pool refuses, by name, and the exit code says so', async () => {
    const found = await plan(...from('exhausted'));
    expect(found.code).toBe(1);
    expect(found.nodes[2]).toEqual({
      name: 'n3',
      blocks: [],
      refused: [
        { family: 'ipv4', reason: 'PoolExhausted', detail: 'pool tiny has no free ipv4 block' },
      ],
    });
    expect(found.pools).toEqual([{ name: 'tiny', capacity: 2, assigned: 2, free: 0 }]);
  });

  test('what is held twice stays with one, names both, and holds nobody else up', async () => {
    const found = await plan(...from('duplicates'));
    expect(found.code).toBe(1);
    expect(found.findings.map(({ reason, nodes, cidr }) => [reason, nodes, cidr])).toEqual([
      ['DuplicateBlock', ['a', 'b'], '10.10.0.0/24'],
      ['OverlappingBlocks', ['c', 'd'], '10.10.3.128/25'],
      ['OutsidePools', ['f'], '192.168.7.0/24'],
    ]);
    expect(blocksOf(found)).toEqual({
      a: ['10.10.0.0/24'],
      b: [],
      c: ['10.10.3.0/24'],
      d: [],
      e: ['10.10.1.0/24'],
      f: [],
    });
  });

  test('the younger of two overlapping pools serves nothing, nor does one on Service land', async () => {
    const found = await plan(...from('overlapping-pools'));
    expect(found.code).toBe(1);
    expect(found.nodes.map(({ name, refused }) => [name, refused[0]?.reason])).toEqual([
      ['one', undefined],
      ['two', 'OverlappingPools'],
      ['three', 'OverlapsNetwork'],
    ]);
    expect(found.findings.map(({ reason }) => reason)).toEqual([
      'OverlappingPools',
      'OverlapsNetwork',
    ]);
  });

  test('host bits in Node.spec are read over, and do not count as a disagreement', async () => {
    const found = await plan(...from('host-bits'));
    expect(found.code).toBe(0);
    expect(blocksOf(found)).toEqual({ sloppy: ['10.10.5.0/24'] });
    expect(found.findings).toEqual([]);
  });
});

describe('cluster-pool', () => {
  const nodes = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n${at}` },
    }));
  const list = (count: number) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: nodes(count) });

  test('cuts 10.0.0.0/8 from the start, and goes on in the next CIDR when one is full', async () => {
    const argv = ['plan', '--from', '-', '--ipam', 'cluster-pool', '-o', 'json'];
    const cidrs = [
      '--cluster-pool-ipv4-cidr',
      '10.9.0.0/23',
      '--cluster-pool-ipv4-cidr=10.0.0.0/16',
    ];
    const { stdout } = await runBuilt([...argv, ...cidrs], { stdin: list(4) });
    expect(Object.values(blocksOf(JSON.parse(stdout))).flat()).toEqual([
      '10.9.0.0/24',
      '10.9.1.0/24',
      '10.0.0.0/24',
      '10.0.1.0/24',
    ]);
  });

  test('v2 gives as many blocks as the node asks for', async () => {
    const stdin = [
      '{apiVersion: v1, kind: Node, metadata: {name: busy, uid: u1}}',
      '{apiVersion: cadastre.dev/v1alpha1, kind: NodeReport, metadata: {name: busy}, spec: {nodeUID: u1, neededAddresses: {ipv4: 40}}}',
    ].join('\n---\n');
    const argv = ['plan', '--from', '-', '--ipam', 'cluster-pool-v2', '-o', 'json'];
    const pool = '--cluster-pool-ipv4-cidr=10.0.0.0/16 --cluster-pool-ipv4-mask-size=28'.split(' ');
    const { stdout } = await runBuilt([...argv, ...pool], { stdin });
    expect(blocksOf(JSON.parse(stdout)).busy).toEqual([
      '10.0.0.0/28',
      '10.0.0.16/28',
      '10.0.0.32/28',
    ]);
  });
});

describe('forms of output', () => {
  test('YAML says what JSON says, and names are kubectl names', async () => {
    const argv = ['plan', ...from('racks'), '-o'];
    const [json, yaml, name] = await Promise.all(
      ['json', 'yaml', 'name'].map((format) => runBuilt([...argv, format])),
    );
    expect(parse(yaml!.stdout)).toEqual(JSON.parse(json!.stdout));
    expect(name!.stdout).toBe('node/a1\nnode/b1\nnode/c1\nnode/c2\nnode/a2\n');
  });

  test('a reader that stops early is no failure', async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [] as unknown[] };
    for (let at = 0; at < 5000; at++) {
      list.items.push({ apiVersion: 'v1', kind: 'Node', metadata: { name: `n${at}` } });
    }
    const pool = '--ipam cluster-pool --cluster-pool-ipv4-cidr 10.0.0.0/8';
    const command = `(node bin/cadastre plan --from - ${pool} -o json; echo "exit $?" >&2) | head -c 1`;
    const child = spawnSync('sh', ['-c', command], { cwd: root, input: JSON.stringify(list) });
    expect(String(child.stdout)).toBe('{');
    expect(String(child.stderr)).toMatch(/^exit 0$/m);
    expect(String(child.stderr)).not.toContain('EPIPE');
  });

  test.runIf(existsSync('/dev/full'))('a full disk is said in one line, and fails', () => {
    const command = 'node bin/cadastre plan --from test/cli/fixtures/racks > /dev/full';
    const child = spawnSync('sh', ['-c', command], { cwd: root });
    expect(child.status).toBe(1);
    expect(String(child.stderr)).toMatch(
      /^cadastre: the answer could not be written: ENOSPC[^\n]*\n/m,
    );
    expect(String(child.stderr)).not.toContain('    at ');
  });
});
