/**
 * The incident replayed on a running lab: real agents with real pods, r238 is
 * FRR and r239 is BIRD. The doctor asks the API server and both routers' own
 * commands, and then FRR again over BMP. The findings are those of the files.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { takeDown } from '../../src/lab/down.ts';
import { eventually } from '../../src/lab/eventually.ts';
import type { Lab } from '../../src/lab/lab.ts';
import { incidentThen } from '../../src/lab/replay/incident-then.ts';
import { replay } from '../../src/lab/replay/run.ts';
import { loadTopology } from '../../src/lab/topologies.ts';
import { bringUp } from '../../src/lab/up.ts';
import type { DoctorReport } from '../../src/plan/doctor/finding.ts';
import { root as checkout } from '../cli/built-command.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { runDoctorIn } from './doctor-inside.ts';
import { countsOf } from './told.ts';

const rootPrefix = 'cad-doctor-labs-';
const root = join(tmpdir(), `${rootPrefix}${process.pid}`);
const name = `d${process.pid}`;
let lab: Lab | undefined;

/** What a run that died left behind. */
async function sweep(): Promise<void> {
  for (const entry of readdirSync(tmpdir()).filter((one) => one.startsWith(rootPrefix))) {
    const pid = entry.slice(rootPrefix.length);
    if (existsSync(`/proc/${pid}`)) continue;
    await takeDown(join(tmpdir(), entry), `d${pid}`).catch(() => undefined);
    rmSync(join(tmpdir(), entry), { recursive: true, force: true });
  }
}

beforeAll(async () => {
  await sweep();
  mkdirSync(root, { recursive: true });
  chmodSync(root, 0o755);
  const { text } = loadTopology('incident');
  const mixed = text
    .replace('  r238:\n', '  r238:\n    software: frr\n')
    .replace('  r239:\n', '  r239:\n    software: bird\n');
  const path = join(root, 'incident.yaml');
  writeFileSync(path, mixed);
  const program = await cadastreProgram();
  const world = { root, cadastre: [process.execPath, program], env: process.env, say: () => {} };
  const options = { name, routers: undefined, operators: 1, apiServer: 'embedded' as const };
  lab = (await bringUp(world, loadTopology(path), options)).lab;
}, 180_000);

afterAll(async () => {
  await lab?.close();
  await takeDown(root, name).catch(() => undefined);
  rmSync(root, { recursive: true, force: true });
}, 60_000);

interface Seen {
  /** Through the API server and the routers' dumps. */
  dumps: DoctorReport;
  /** From saved objects, and what FRR reports over BMP. */
  bmp: DoctorReport;
}

const bmpPort = 11019;

/** Reports are written at a bounded rate, and the story has taken the agents' peers away. */
async function whenReportsTellOfNoSession(running: Lab): Promise<void> {
  const client = await running.client();
  await eventually('no report tells of a session', async () => {
    const path = '/apis/cadastre.dev/v1alpha1/nodereports';
    const { items } = (await client.rawGet(path)) as {
      items: Array<{ status?: { sessions?: unknown[] } }>;
    };
    return items.every(({ status }) => !status?.sessions?.length) || undefined;
  });
}

async function look(running: Lab): Promise<Seen> {
  const inside = (machine: string, ...command: string[]) =>
    execFileSync('ip', ['netns', 'exec', running.namespace(machine), ...command], {
      encoding: 'utf8',
      cwd: checkout,
    });
  const socket = (router: string, file: string) =>
    join(running.folder.path, 'routers', router, file);
  const save = (file: string, text: string) => {
    const path = join(root, file);
    writeFileSync(path, text);
    return path;
  };
  const frr = (...words: string[]) =>
    inside(
      'r238',
      'vtysh',
      '--vty_socket',
      socket('r238', '.'),
      ...words.flatMap((one) => ['-c', one]),
    );
  const ribs = [
    ...['--rib', `r238=${save('r238.dump', frr('show bgp ipv4 unicast json'))}`],
    ...[
      '--rib',
      `r239=${save('r239.dump', inside('r239', 'birdc', '-s', socket('r239', 'bird.ctl'), 'show', 'route', 'all'))}`,
    ],
  ];
  const control = running.namespace('control');
  const { report: dumps } = await runDoctorIn(control, [
    '--kubeconfig',
    running.kubeconfigPath,
    ...ribs,
  ]);
  const client = await running.client();
  const list = async (path: string) => (await client.rawGet(path)) as object;
  const objects = await Promise.all(
    [
      '/api/v1/nodes',
      '/apis/cilium.io/v2/ciliumnodes',
      '/apis/cadastre.dev/v1alpha1/nodeblocks',
      '/apis/cadastre.dev/v1alpha1/nodereports',
    ].map(list),
  );
  const from = save('objects.yaml', objects.map((one) => JSON.stringify(one)).join('\n---\n'));
  const { address } = running.router('r238');
  frr(
    'configure terminal',
    'router bgp 64524',
    'bmp targets doctor',
    'bmp monitor ipv4 unicast post-policy',
    `bmp connect ${address} port ${bmpPort} min-retry 100 max-retry 500`,
  );
  const { report: bmp } = await runDoctorIn(running.namespace('r238'), [
    ...['--from', from, '--listen', `bmp=${address}:${bmpPort}`],
    ...['--listen-routers', '1', '--listen-seconds', '60'],
  ]);
  return { dumps, bmp };
}

test('before and after node1 leaves, by dumps of FRR and BIRD and by BMP', {
  timeout: 300_000,
}, async () => {
  const running = lab!;
  const [inject, , leave] = incidentThen.steps;
  const seen: { before?: Seen; after?: Seen } = {};
  const told = await replay(
    running,
    {
      ...incidentThen,
      steps: [
        inject!,
        {
          title: 'the agents have reported that they have no peer',
          act: () => whenReportsTellOfNoSession(running),
        },
        {
          title: 'the doctor looks',
          act: async () => {
            seen.before = await look(running);
          },
        },
        leave!,
        {
          title: 'the doctor looks again',
          act: async () => {
            seen.after = await look(running);
          },
        },
      ],
      restore: async () => {},
    },
    { patienceMs: 60_000, onStep: () => {} },
  );
  const failed = told.steps.flatMap(({ expectations }) => expectations.filter(({ ok }) => !ok));
  expect(failed).toEqual([]);

  for (const report of Object.values(seen.before!) as DoctorReport[]) {
    expect(countsOf(report), JSON.stringify(report.sources)).toMatchObject({
      SourcesDisagree: 4,
      Detour: 4,
    });
    expect(countsOf(report)).not.toHaveProperty('Blackhole');
    const detour = report.findings.find(
      ({ reason, owner }) => reason === 'Detour' && owner === 'master2',
    );
    expect(detour).toMatchObject({
      node: 'node1',
      prefix: '10.5.115.0/24',
      hurts: { if: [{ event: 'drain node1', nodes: ['master2'], prefixes: ['10.5.115.0/24'] }] },
    });
  }
  for (const report of Object.values(seen.after!) as DoctorReport[]) {
    expect(countsOf(report)).toMatchObject({ Blackhole: 1, Orphan: 1, Detour: 2 });
    expect(countsOf(report)).not.toHaveProperty('Stale');
    const [blackhole] = report.findings;
    expect(blackhole).toMatchObject({
      reason: 'Blackhole',
      node: 'master2',
      prefix: '10.5.115.0/24',
    });
    const orphan = report.findings.find(({ reason }) => reason === 'Orphan');
    expect(orphan).toMatchObject({ node: 'master1', prefix: '10.5.112.0/24', owner: 'node1' });
  }
});
