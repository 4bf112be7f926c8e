/**
 * The incident on the wire: four of our speakers as its nodes, and FRR, BIRD,
 * GoBGP and OpenBGPD as its routers. Their own dumps, a BMP feed and a BGP
 * session must all lead to the findings that the saved files lead to.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRib } from '../../src/doctor/rib/read-rib.ts';
import { eventually, sweepDeadRuns } from '../interop/link.ts';
import { doctorInside } from './doctor-inside.ts';
import { type RouterName, type Site, siteNodes, startSite } from './site.ts';
import { agedFixtures, countsOf, doctor, whatIf } from './told.ts';

const fixtures = agedFixtures();
const bmpPort = 11019;
const bgpPort = 1179;
let site: Site;

/** What each node's speaker announced, by mistake: Node.spec.podCIDRs. */
const announced = {
  master1: '10.5.112.0/24',
  master2: '10.5.114.0/24',
  master3: '10.5.113.0/24',
  node1: '10.5.115.0/24',
} as const;

beforeAll(async () => {
  await sweepDeadRuns();
  site = await startSite({ bmpPort, bgpPort });
  for (const [node, prefix] of Object.entries(announced)) {
    await site.announce(node as keyof typeof announced, [prefix]);
  }
}, 120_000);

afterAll(async () => {
  await site?.close();
  fixtures.remove();
});

const routerNames: readonly RouterName[] = ['frr', 'bird', 'gobgp', 'openbgpd'];

async function held(router: RouterName): Promise<string[]> {
  const read = readRib(await site.routers[router].dump());
  if (read.kind === 'refused') throw new Error(read.problem);
  return read.rib.routes
    .filter(({ nextHop, isUsed }) => nextHop !== '' && isUsed)
    .map(({ prefix, nextHop }) => `${prefix} ${nextHop}`)
    .sort();
}

const expected = (nodes: readonly (keyof typeof announced)[]) =>
  nodes.map((node) => `${announced[node]} ${siteNodes[node]}`).sort();

/** The dumps of all routers, as files. */
async function saved(nodes: readonly (keyof typeof announced)[]): Promise<string[]> {
  const flags: string[] = [];
  for (const router of routerNames) {
    await eventually(
      `${router} holds what ${nodes} announce`,
      () => held(router),
      (routes) => JSON.stringify(routes) === JSON.stringify(expected(nodes)),
      60_000,
    );
    const path = join(fixtures.path('.'), `${router}-live.dump`);
    writeFileSync(path, await site.routers[router].dump());
    flags.push('--rib', `${router}=${path}`);
  }
  return flags;
}

describe('before node1 leaves', () => {
  test('the dumps of all four show four detours', { timeout: 120_000 }, async () => {
    const ribs = await saved(['master1', 'master2', 'master3', 'node1']);
    const { report } = await doctor('--from', fixtures.path('incident/before'), ...ribs);
    expect(countsOf(report)).toEqual({ Detour: 4, SourcesDisagree: 4, SecondAllocator: 1 });
    const detour = report.findings.find(
      ({ prefix, reason }) => reason === 'Detour' && prefix === announced.node1,
    );
    for (const router of routerNames) expect(detour?.says[router]).toBe('via 10.4.94.23 (node1)');
    const { answer } = await whatIf(
      'drain',
      'node1',
      '--from',
      fixtures.path('incident/before'),
      ...ribs,
    );
    expect(answer.loses).toMatchObject([{ node: 'master2', prefix: '10.5.115.0/24' }]);
  });

  test('so does FRR over BMP', { timeout: 120_000 }, async () => {
    const { code, report, stderr } = await doctorInside(site, [
      ...['--from', fixtures.path('incident/before')],
      ...[
        '--listen',
        `bmp=10.4.94.250:${bmpPort}`,
        '--listen-routers',
        '1',
        '--listen-seconds',
        '60',
      ],
    ]);
    expect(stderr).toContain('listening for BMP');
    expect(countsOf(report)).toEqual({ Detour: 4, SourcesDisagree: 4, SecondAllocator: 1 });
    expect(code).toBe(1);
    expect(report.sources.find(({ kind }) => kind === 'bmp')).toMatchObject({
      state: 'seen',
      ageSeconds: 0,
    });
  });
});

describe('after node1 has left', () => {
  beforeAll(() => site.takeOut('node1'), 60_000);

  test('the dumps of all four show the blackhole, the orphan and two detours', {
    timeout: 120_000,
  }, async () => {
    const ribs = await saved(['master1', 'master2', 'master3']);
    const { report } = await doctor('--from', fixtures.path('incident/after'), ...ribs);
    expect(countsOf(report)).toMatchObject({ Blackhole: 1, Orphan: 1, Detour: 2 });
    expect(report.findings[0]).toMatchObject({
      reason: 'Blackhole',
      node: 'master2',
      prefix: '10.5.115.0/24',
    });
    expect(countsOf(report)).not.toHaveProperty('Stale');
  });

  test('so do BMP from FRR and a BGP session with BIRD, heard at the same time', {
    timeout: 120_000,
  }, async () => {
    const { report } = await doctorInside(site, [
      ...['--from', fixtures.path('incident/after')],
      ...['--listen', `bmp=10.4.94.250:${bmpPort}`],
      ...['--listen', `bgp=10.4.94.254:${bgpPort},as=64524,peer-as=64524`],
      ...['--listen-routers', '2', '--listen-seconds', '60'],
    ]);
    expect(
      report.sources
        .filter(({ kind }) => kind === 'bmp' || kind === 'bgp')
        .map(({ kind, state }) => [kind, state]),
    ).toEqual([
      ['bmp', 'seen'],
      ['bgp', 'seen'],
    ]);
    expect(countsOf(report)).toMatchObject({ Blackhole: 1, Orphan: 1, Detour: 2 });
    const [blackhole] = report.findings;
    expect(Object.values(blackhole?.says ?? {}).filter((text) => text === 'no route')).toHaveLength(
      2,
    );
  });

  test('where nobody comes, that is no clean answer', { timeout: 60_000 }, async () => {
    const { code, report } = await doctorInside(site, [
      ...['--from', fixtures.path('clean')],
      ...['--listen', 'bmp=10.4.94.250:11999', '--listen-seconds', '1'],
    ]);
    expect(report.findings).toEqual([]);
    expect(code).toBe(3);
  });
});
