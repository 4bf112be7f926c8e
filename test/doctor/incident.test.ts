/**
 * The incident as files: four Nodes, four CiliumNodes, cilium-config, and what
 * two routers printed before and after node1 left (tor1 is FRR, tor2 is BIRD).
 */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { run } from '../cli/collecting-terminal.ts';
import { agedFixtures, countsOf, doctor, whatIf } from './told.ts';

const fixtures = agedFixtures();
afterAll(() => fixtures.remove());

const golden = (name: string) => new URL(`./golden/${name}`, import.meta.url).pathname;
const seen = (when: 'before' | 'after') => [
  ...['--from', fixtures.path(`incident/${when}`)],
  ...['--rib', `tor1=${fixtures.path(`incident/${when}-tor1.dump`)}`],
  ...['--rib', `tor2=${fixtures.path(`incident/${when}-tor2.dump`)}`],
];

describe('before node1 left', () => {
  test('four records disagree, and every block makes a detour', async () => {
    const { code, report } = await doctor(...seen('before'));
    expect(code).toBe(1);
    expect(countsOf(report)).toEqual({ Detour: 4, SourcesDisagree: 4, SecondAllocator: 1 });
    const detours = report.findings.filter(({ reason }) => reason === 'Detour');
    expect(detours.map(({ prefix, owner, node }) => [prefix, owner, node])).toEqual([
      ['10.5.112.0/24', 'node1', 'master1'],
      ['10.5.113.0/24', 'master1', 'master3'],
      ['10.5.114.0/24', 'master3', 'master2'],
      ['10.5.115.0/24', 'master2', 'node1'],
    ]);
    expect(detours[3]).toEqual({
      reason: 'Detour',
      severity: 'warning',
      node: 'node1',
      prefix: '10.5.115.0/24',
      owner: 'master2',
      says: {
        CiliumNode: 'master2',
        'Node.spec': 'node1',
        announced: 'node1',
        tor1: 'via 10.4.94.23 (node1)',
        tor2: 'via 10.4.94.23 (node1)',
      },
      hurts: {
        now: [],
        if: [{ event: 'drain node1', nodes: ['master2'], prefixes: ['10.5.115.0/24'] }],
      },
      fix: expect.stringContaining('Cilium 1.11 announces Node.spec.podCIDRs'),
    });
    const records = report.findings.filter(({ reason }) => reason === 'SourcesDisagree');
    expect(records.map(({ node, says }) => [node, says])).toEqual([
      ['node1', { CiliumNode: '10.5.112.0/24', 'Node.spec': '10.5.115.0/24' }],
      ['master1', { CiliumNode: '10.5.113.0/24', 'Node.spec': '10.5.112.0/24' }],
      ['master3', { CiliumNode: '10.5.114.0/24', 'Node.spec': '10.5.113.0/24' }],
      ['master2', { CiliumNode: '10.5.115.0/24', 'Node.spec': '10.5.114.0/24' }],
    ]);
    expect(report.checked).toEqual({ nodes: 4, blocks: 4, routes: 10 });
  });

  test('draining node1 would cut off master2, and the answer names its block', async () => {
    const { code, answer } = await whatIf('drain', 'node1', ...seen('before'));
    expect(code).toBe(1);
    expect(answer).toEqual({
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'WhatIf',
      action: 'drain node1',
      safe: false,
      loses: [
        {
          node: 'master2',
          prefix: '10.5.115.0/24',
          why: 'its traffic enters at node1; tor1 and tor2 have no other way to 10.5.115.0/24',
          alternatives: [],
        },
      ],
      moves: [
        {
          node: 'node1',
          prefix: '10.5.112.0/24',
          from: 'tor1, tor2: via master1',
          to: 'tor1, tor2: via master1',
          why: 'stays, announced by somebody else: an Orphan',
        },
      ],
      refused: [],
    });
  });

  test('is foreseen without any router, from what that Cilium announces', async () => {
    const from = ['--from', fixtures.path('incident/before')];
    const { code, report } = await doctor(...from);
    expect(code).toBe(1);
    expect(countsOf(report)).toEqual({ Detour: 4, SourcesDisagree: 4, SecondAllocator: 1 });
    expect(report.sources.find(({ name }) => name === 'routers')?.state).toBe('unseen');
    const { answer } = await whatIf('drain', 'node1', ...from);
    expect(answer.loses.map(({ node, prefix }) => [node, prefix])).toEqual([
      ['master2', '10.5.115.0/24'],
    ]);
  });

  test('would not have happened to Cilium 1.12, which announces what its pods use', async () => {
    const { report } = await doctor(
      ...['--from', fixtures.path('incident/before'), '--cilium-version', '1.12'],
    );
    expect(countsOf(report)).toEqual({ SourcesDisagree: 4, SecondAllocator: 1 });
    const severities = report.findings.map(({ reason, severity }) => `${reason} ${severity}`);
    expect(severities.filter((one) => one === 'SourcesDisagree info')).toHaveLength(4);
  });

  test('reads well', async () => {
    const { stdout } = await run(['doctor', ...seen('before')]);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    await expect(stdout).toMatchFileSnapshot(golden('before.txt'));
  });

  test('what-if reads well', async () => {
    const { stdout } = await run(['whatif', 'drain', 'node1', ...seen('before')]);
    await expect(stdout).toMatchFileSnapshot(golden('whatif-drain-node1.txt'));
  });
});

describe('after node1 left', () => {
  test('one blackhole, one orphan, nothing stale, and two detours remain', async () => {
    const { code, report } = await doctor(...seen('after'));
    expect(code).toBe(1);
    expect(countsOf(report)).toEqual({
      Blackhole: 1,
      Detour: 2,
      Orphan: 1,
      SecondAllocator: 1,
      SourcesDisagree: 3,
    });
    const [blackhole] = report.findings;
    expect(blackhole).toMatchObject({
      reason: 'Blackhole',
      severity: 'critical',
      node: 'master2',
      owner: 'master2',
      prefix: '10.5.115.0/24',
      hurts: { now: ['master2'], if: [] },
    });
    const orphan = report.findings.find(({ reason }) => reason === 'Orphan');
    expect(orphan).toMatchObject({ node: 'master1', prefix: '10.5.112.0/24', owner: null });
    expect(orphan?.fix).toContain('restarting routers will not help');
    const detours = report.findings.filter(({ reason }) => reason === 'Detour');
    expect(detours.map(({ prefix, owner, node }) => [prefix, owner, node])).toEqual([
      ['10.5.113.0/24', 'master1', 'master3'],
      ['10.5.114.0/24', 'master3', 'master2'],
    ]);
  });

  test('the same where node1 is only switched off, and its Node and CiliumNode stay', async () => {
    const { report } = await doctor(
      ...['--from', fixtures.path('incident/before/ciliumnodes.json')],
      ...['--from', fixtures.path('incident/before/cilium.yaml')],
      ...['--from', fixtures.path('incident/nodes-node1-down.yaml')],
      ...['--rib', `tor1=${fixtures.path('incident/after-tor1.dump')}`],
      ...['--rib', `tor2=${fixtures.path('incident/after-tor2.dump')}`],
    );
    expect(countsOf(report)).toMatchObject({ Blackhole: 1, Orphan: 1, Detour: 2 });
    const orphan = report.findings.find(({ reason }) => reason === 'Orphan');
    expect(orphan).toMatchObject({ node: 'master1', owner: 'node1' });
    expect(countsOf(report)).not.toHaveProperty('StrandedBlock');
  });

  test('is the documented JSON, field by field', async () => {
    const { stdout } = await run(['doctor', ...seen('after'), '-o', 'json']);
    await expect(stdout).toMatchFileSnapshot(golden('after-json.txt'));
  });

  test('reads well', async () => {
    const { stdout } = await run(['doctor', ...seen('after')]);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    await expect(stdout).toMatchFileSnapshot(golden('after.txt'));
  });
});

describe('docs/doctor.md', () => {
  const page = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');

  test.each(['after.txt', 'whatif-drain-node1.txt'])('shows %s as it is printed', (name) => {
    expect(page).toContain(`\`\`\`text\n${readFileSync(golden(name), 'utf8')}\`\`\``);
  });
});
