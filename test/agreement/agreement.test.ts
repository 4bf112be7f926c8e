/**
 * The same question gets the same answer everywhere. On each world `plan`,
 * `whatif`, `doctor`, the operator's comparison and the console's rows are asked,
 * each by its own way in, and must agree with each other and with what the world
 * itself says is wrong.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { readIpamFlags } from '../../src/cli/view/ipam-flags.ts';
import { Examiner } from '../../src/console/examiner.ts';
import { ConsoleState } from '../../src/console/state.ts';
import { type StatedSettings, stateOfObjects } from '../../src/model/cluster-state.ts';
import { modeOfFlag } from '../../src/model/modes.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { writeOperatorReport } from '../../src/model/operator-report.ts';
import { driftEvidence } from '../../src/operator/drift-evidence.ts';
import { operatorSettings } from '../../src/operator/operator-settings.ts';
import { reportOf } from '../../src/operator/settings-reporter.ts';
import { type Evidence, evidenceOf } from '../../src/plan/doctor/evidence.ts';
import type { DoctorFinding, DoctorReport } from '../../src/plan/doctor/finding.ts';
import { judge } from '../../src/plan/doctor/judge.ts';
import { nodesOf } from '../../src/plan/doctor/truth-table.ts';
import type { WhatIf } from '../../src/plan/doctor/what-if-answer.ts';
import { nowText, run } from '../cli/collecting-terminal.ts';
import { itemsOf } from './items.ts';
import { type World, worlds } from './worlds.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-agreement-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const nowMs = Date.parse(nowText);

/** As the doctor prints it and the worlds have it. */
const brief = ({ reason, node, prefix }: Pick<DoctorFinding, 'reason' | 'node' | 'prefix'>) =>
  `${reason} ${node || '-'} ${prefix || '-'}`;

async function ask<T>(world: string, argv: string[]): Promise<T> {
  const { stdout, stderr } = await run([...argv, '--from', world, '-o', 'json']);
  try {
    return JSON.parse(stdout) as T;
  } catch {
    throw new Error(`${argv.join(' ')}: ${stderr}`);
  }
}

interface Planned {
  nodes: Array<{
    name: string;
    blocks: Array<{ cidr: string; action: string }>;
    refused: Array<{ reason: string }>;
  }>;
  findings: Array<{ reason: string; nodes: string[]; cidr: string }>;
}

/** Two rounds of the console's examiner, past its first seconds. */
function consoleRows(evidence: Evidence): ConsoleState {
  let ms = 0;
  const state = new ConsoleState({ epoch: 'test' });
  const examiner = new Examiner({
    evidence: () => evidence,
    notReady: () => undefined,
    state,
    clock: { monotonicMs: () => ms, wallMs: () => nowMs },
    log: silentLog,
  });
  ms = 60_000;
  examiner.examine();
  examiner.examine();
  examiner.stop();
  return state;
}

function statedBy(flags: readonly string[]): StatedSettings {
  const at = flags.indexOf('--ipam');
  if (at < 0) return {};
  const cidr = flags.indexOf('--cluster-pool-ipv4-cidr');
  const { mode, clusterPool } = readIpamFlags({
    ipam: flags[at + 1]!,
    ...(cidr < 0 ? {} : { clusterPoolIpv4Cidr: [flags[cidr + 1]!] }),
  });
  return { mode: mode.name, clusterPool };
}

const all = Object.entries(worlds);
/** An operator and a dry run have a mode; what is read off the cluster is the doctor's and the console's. */
const inMode = all.filter(([, { flags = [] }]) => flags.includes('--ipam'));
const allocating = inMode.filter(([, { flags = [] }]) => modeOfFlag(flags[1]!).allocates);

function fileOf(name: string, { objects }: World): string {
  const file = join(dir, `${Object.keys(worlds).indexOf(name)}.json`);
  writeFileSync(file, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: objects }));
  return file;
}

describe.each(all)('%s', (name, world) => {
  const { objects, flags = [], routers = [], findings, withRouters = [], blocks } = world;
  const state = stateOfObjects(objects, statedBy(flags));

  test('doctor finds what the world says is wrong, and nothing else', async () => {
    const { findings: found } = await ask<DoctorReport>(fileOf(name, world), ['doctor', ...flags]);
    expect(found.map(brief).sort()).toEqual(findings);
    const seen = judge(evidenceOf(state, { nowMs, routers }));
    expect(seen.map(brief).sort()).toEqual([...findings, ...withRouters].sort());
  });

  test('the console shows the same, and a row is red where a finding says so', () => {
    const evidence = evidenceOf(state, { nowMs, routers });
    const shown = consoleRows(evidence);
    const found = judge(evidence);
    const rows = shown.all('finding') as unknown as DoctorFinding[];
    expect(rows.map(brief).sort()).toEqual(found.map(brief).sort());
    const red = new Set(found.flatMap(nodesOf));
    for (const { node, cells, reasons } of shown.all('truth')) {
      const isRed = cells.some((cell) => ['differs', 'missing', 'conflict'].includes(cell.state));
      expect([node, reasons.length > 0, isRed]).toEqual([node, red.has(node), red.has(node)]);
      expect(cells[0]?.cidrs).toEqual(blocks[node]);
    }
  });
});

describe.each(inMode)('%s', (name, world) => {
  const { objects, flags = [], findings, blocks } = world;

  test("the operator's comparison finds the same", () => {
    const { mode, clusterPool } = statedBy(flags);
    const settings = operatorSettings(modeOfFlag(mode!), 'test', { clusterPool });
    const found = judge(driftEvidence(settings, { items: itemsOf(objects) }, nowMs));
    expect(found.map(brief).sort()).toEqual(findings);
  });

  test('plan keeps and adopts what the doctor calls the truth', async () => {
    const plan = await ask<Planned>(fileOf(name, world), ['plan', ...flags]);
    for (const { name: node, blocks: planned } of plan.nodes) {
      const held = planned.filter(({ action }) => action !== 'assign').map(({ cidr }) => cidr);
      expect([node, held]).toEqual([node, blocks[node]]);
    }
    const both = ['DuplicateBlock', 'OverlappingBlocks', 'OutsidePools', 'PoolsDiffer'];
    const planned = plan.findings.map(({ reason }) => reason).filter((one) => both.includes(one));
    const expected = findings
      .map((one) => one.split(' ')[0]!)
      .filter((reason) => both.includes(reason));
    expect(new Set(planned)).toEqual(new Set(expected));
  });
});

/** What an operator with those flags writes. */
function reportBy(flags: readonly string[]): KubeObject {
  const { mode, clusterPool } = statedBy(flags);
  return writeOperatorReport(
    reportOf(operatorSettings(modeOfFlag(mode!), 'test', { clusterPool })),
  );
}

describe.each(inMode)('%s, without flags, in a cluster whose operator has them', (name, world) => {
  const { objects, flags = [] } = world;
  const reported = { ...world, objects: [...objects, reportBy(flags)] };

  const asked: Array<[string, string[]]> = [
    ['doctor', []],
    ['plan', []],
    ['pools', []],
    ['explain', ['a']],
    ['migrate', ['plan']],
    // Where others give out the blocks, nobody here knows what a new node would get.
    ...(modeOfFlag(flags[1]!).allocates
      ? [['whatif', ['add-nodes', '1']] as [string, string[]]]
      : []),
  ];
  test.each(asked)('%s %j says the same as with them', async (command, words) => {
    const argv = [command, ...words];
    const withFlags = await ask<object>(fileOf(name, world), [...argv, ...flags]);
    const without = await ask<object>(fileOf(name, reported), argv);
    // By whose word the mode is known is the one thing that differs.
    const text = JSON.stringify(without).replaceAll('OperatorReport says', '--ipam');
    expect(JSON.parse(text)).toEqual(withFlags);
  });
});

test.each(allocating)('plan and whatif say the same of the next node: %s', async (name, world) => {
  const { flags = [], refusesNext } = world;
  const file = fileOf(name, world);
  const { refused } = await ask<WhatIf>(file, ['whatif', 'add-nodes', '1', ...flags]);
  const next = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'zz-next' }, spec: {} };
  const more = join(dir, 'next.json');
  writeFileSync(more, JSON.stringify(next));
  const plan = await ask<Planned>(file, ['plan', ...flags, '--from', more]);
  const row = plan.nodes.find(({ name: node }) => node === 'zz-next');
  const expected = refusesNext === undefined ? [] : [refusesNext];
  expect([...new Set(refused.map(({ reason }) => reason))]).toEqual(expected);
  expect([...new Set(row?.refused.map(({ reason }) => reason))]).toEqual(expected);
});
