/**
 * Cases of Cilium's and Kubernetes' allocators, and of incidents, run over the
 * judgement in src/plan. Each case has its own entry in one of the tables that
 * are imported here, named by its id. A case without an entry fails, and so does
 * an entry without a case. Where ours differs on purpose the entry asserts what
 * we do, and docs/cases.md says why.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { desiredPoolStatus } from '../../src/plan/pools/pool-status.ts';
import { nodeObject, poolObject, second } from '../register/objects.ts';
import { clusterPoolCases, demandCase, overlapCase } from './ipam-cluster-pool.ts';
import { incidentCases } from './ipam-incidents.ts';
import { multiPoolCases } from './ipam-multi-pool.ts';
import { rangeAllocatorCases } from './ipam-range-allocator.ts';
import { Site } from './ipam-site.ts';

// Every file has a shape of its own.
type Case = any;
type Checks = Readonly<Record<string, (one: Case) => void>> | ((one: Case) => void);

const files: readonly (readonly [file: string, count: number, checks: Checks])[] = [
  ['cilium_agent_demand.json', 11, demandCase],
  ['cilium_clusterpool.json', 8, clusterPoolCases],
  ['cilium_multipool_operator.json', 12, multiPoolCases],
  ['cilium_pool_overlap.json', 6, overlapCase],
  ['incidents.json', 11, incidentCases],
  ['k8s_range_allocator.json', 15, rangeAllocatorCases],
];

/** Rows of the table in docs/cases.md. */
const oursDiffers = [
  'cil-cp-dup-v6-keeps-v4',
  'cil-cp-v6-dup',
  'cil-cp-v4-dup',
  'cil-cp-change-refused',
  'cil-mp-life-cycle',
  'cil-mp-missing-pool',
  'cil-mp-overlapping-pools-PEER-DEFECT',
  'cil-mp-mask-immutable-v4',
  'cil-mp-mask-immutable-v6',
  'cil-mp-delete-missing-pool',
  'cil-mp-shrink-in-use',
  'cil-mp-delete-in-use-then-recreate',
  'inc-selector-terms-or',
  'k8s-ra-startup-ok-dual',
  'k8s-ra-startup-ok-dual-existing-othermask',
  'k8s-ra-startup-fail-outside',
  'k8s-ra-startup-fail-extra-family',
  'k8s-ra-startup-fail-bad-v4',
  'k8s-ra-startup-fail-bad-v6',
  'k8s-ra-release-then-alloc',
  'k8s-ra-recycle',
];

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
/**
 * Usable addresses are arithmetic: cidrset.test.ts runs them. Kubernetes tries its range
 * allocator with loopback addresses, which no pool of ours may have.
 */
const load = (file: string): Case[] =>
  JSON.parse(read(`ipam/${file}`).replaceAll('127.123.', '10.123.')).cases.filter(({ id }: Case) => !id.startsWith('cil-usable-'));

describe.each(files)('%s', (file, count, checks) => {
  const cases = load(file);

  test(`has ${count} cases, and each is checked`, () => {
    expect(cases).toHaveLength(count);
    const ids = cases.map(({ id }) => id);
    expect(new Set(ids).size).toBe(count);
    if (typeof checks !== 'function') expect(Object.keys(checks).sort()).toEqual(ids.sort());
  });

  test.each(cases.map((one) => [one.id, one]))('%s', (id, one) => {
    const check = typeof checks === 'function' ? checks : checks[id];
    expect.hasAssertions();
    check!(one);
  });
});

test('docs/cases.md has a row for each case where ours differs, and no row of another case', () => {
  const page = read('../../docs/cases.md');
  const section = page.slice(page.indexOf('## ipam:'));
  const rows = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, id]) => id);
  expect(rows).toEqual(oursDiffers);
  const ids = files.flatMap(([file]) => load(file).map(({ id }) => id));
  expect(ids).toEqual(expect.arrayContaining(oursDiffers));
});

test('the free blocks of a pool count down before it is exhausted', () => {
  const cluster = new Site([], [poolObject('p', { cidrs: ['10.0.0.0/22'] })]);
  const seen = ['a', 'b', 'c', 'd'].map((name) => {
    cluster.put(nodeObject(name));
    cluster.serve(name);
    const { register } = cluster;
    const status = desiredPoolStatus(register, register.poolSet.get('p')!, second(0));
    const exhausted = status.conditions!.find(({ type }) => type === 'Exhausted');
    return `${status.free} free, exhausted: ${exhausted?.status}`;
  });
  expect(seen).toEqual([
    '3 free, exhausted: False',
    '2 free, exhausted: False',
    '1 free, exhausted: False',
    '0 free, exhausted: True',
  ]);
});
