import { CadastreError } from '../../base/errors.ts';
import { takeDown } from '../../lab/down.ts';
import { LabFolder, listLabs } from '../../lab/folder.ts';
import { Lab, type LabWorld } from '../../lab/lab.ts';
import { reachEverybody } from '../../lab/reach.ts';
import { type ReplayReport, replay, type StepReport } from '../../lab/replay/run.ts';
import { stories } from '../../lab/replay/stories.ts';
import type { Story } from '../../lab/replay/story.ts';
import { loadTopology } from '../../lab/topologies.ts';
import { isReachableFromOutside, type Software } from '../../lab/topology.ts';
import { bringUp } from '../../lab/up.ts';
import { readSeconds } from '../numbers.ts';
import { type Format, printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';

export interface ReplayFlags {
  name?: string;
  routers?: Software;
  keep?: boolean;
  patience: string;
  apiServer?: 'real' | 'embedded';
  output: Format;
}

/** `lab replay`: the lab it needs, the story, the verdict. */
export async function runReplay(
  world: LabWorld,
  wanted: string | undefined,
  flags: ReplayFlags,
  terminal: Terminal,
): Promise<void> {
  if (wanted === undefined) {
    await listStories(flags, terminal);
    return;
  }
  const story = stories.find(({ name }) => name === wanted);
  if (story === undefined) {
    throw new CadastreError('BAD_USAGE', `there is no story "${wanted}"`, {
      remedy: `There are ${stories.map(({ name }) => name).join(', ')}.`,
    });
  }
  const patience = readSeconds('--patience', flags.patience, 1, 3600);
  const found = findLab(world, story, flags);
  const name = found ?? flags.name ?? story.name;
  const isOurs = found === undefined;
  // Whoever breaks off wants his machine back.
  const onSignal = () => {
    if (!isOurs || flags.keep) process.exit(130);
    void takeDown(world.root, name).finally(() => process.exit(130));
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const isTable = flags.output === 'table';
  let lab: Lab | undefined;
  try {
    lab = isOurs ? await makeLab(world, story, name, flags) : Lab.open(world, name);
    if (isReachableFromOutside(lab.topology)) await reachEverybody(lab);
    if (isTable) terminal.write(`${story.name}: ${story.about}\n`);
    let before: StepReport | undefined;
    const report = await replay(lab, story, {
      patienceMs: patience * 1000,
      onStep: (step, nodes) => {
        if (isTable) terminal.write(stepText(step, before, nodes));
        else terminal.say(`${step.atSeconds.toFixed(1).padStart(6)} s  ${step.title}`);
        before = step;
      },
    });
    await printAnswer(terminal, flags.output, {
      data: report,
      names: [`replay/${story.name}`],
      table: (columns) => endText(report, columns),
    });
    if (!report.ok) terminal.exitCode = 1;
    if (report.notRestored !== undefined && (!isOurs || flags.keep)) {
      terminal.say(`the lab could not be brought back to where it was: ${report.notRestored}`);
      terminal.say(`Take it down and make it anew: cadastre lab down ${name}`);
    }
  } finally {
    await lab?.close();
    if (isOurs && !flags.keep && new LabFolder(world.root, name).exists) {
      await takeDown(world.root, name);
    }
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

async function listStories(flags: ReplayFlags, terminal: Terminal): Promise<void> {
  const data = stories.map(({ name, topology, about }) => ({ name, topology, about }));
  await printAnswer(terminal, flags.output, {
    data: { kind: 'LabStories', stories: data },
    names: data.map(({ name }) => `replay/${name}`),
    table: (columns) =>
      renderTable(
        ['STORY', 'TOPOLOGY', 'WHAT HAPPENS'],
        data.map(({ name, topology, about }) => [name, topology, about]),
        columns,
      ),
  });
}

/** A lab that is up and of the right topology; one that is named must be. */
function findLab(world: LabWorld, story: Story, flags: ReplayFlags): string | undefined {
  const names = flags.name === undefined ? listLabs(world.root) : [flags.name];
  const fitting = names.filter((name) => {
    const folder = new LabFolder(world.root, name);
    if (!folder.exists) return false;
    const { isUp, topologyName } = folder.read();
    if (isUp && topologyName === story.topology) return true;
    if (flags.name === undefined) return false;
    const is = isUp ? `is a lab of topology ${topologyName}` : 'is not up';
    throw new CadastreError(
      'BAD_USAGE',
      `${story.name} needs topology ${story.topology}; ${name} ${is}`,
      {
        remedy: 'Leave --name out, or choose a new name.',
      },
    );
  });
  if (fitting.length <= 1) return fitting[0];
  throw new CadastreError('BAD_USAGE', `there are several labs for it: ${fitting.join(', ')}`, {
    remedy: 'Say which one, with --name.',
  });
}

async function makeLab(
  world: LabWorld,
  story: Story,
  name: string,
  flags: ReplayFlags,
): Promise<Lab> {
  const { routers, apiServer } = flags;
  const options = { name, routers, operators: 2, apiServer };
  const { lab } = await bringUp(world, loadTopology(story.topology), options);
  return lab;
}

/** What happened, what every router held, which pings were lost. */
function stepText(
  step: StepReport,
  before: StepReport | undefined,
  nodes: Readonly<Record<string, string>>,
): string {
  const to = (nextHop: string) => nodes[nextHop] ?? nextHop;
  const seconds = (value: number) => `${value.toFixed(1)} s`.padStart(8);
  const lines = [`${seconds(step.atSeconds)}  ${step.title}`];
  for (const { atSeconds, router, change, prefix, nextHop } of step.routeEvents) {
    const verb = change === 'removed' ? 'loses' : 'gets';
    lines.push(`${seconds(atSeconds)}    ${router} ${verb} ${prefix} via ${to(nextHop)}`);
  }
  const indent = ' '.repeat(12);
  if (step.convergedSeconds !== undefined) {
    lines.push(`${indent}converged after ${step.convergedSeconds.toFixed(1)} s`);
  }
  const isSame = JSON.stringify(step.routers) === JSON.stringify(before?.routers);
  if (isSame) lines.push(`${indent}every router holds what it held before`);
  for (const [router, routes] of isSame ? [] : Object.entries(step.routers)) {
    const held = routes.map(({ prefix, nextHop }) => `${prefix} ${to(nextHop)}`).join(', ');
    lines.push(`${indent}${router} holds ${held || 'nothing'}`);
  }
  for (const [label, hops] of Object.entries(step.traces)) {
    lines.push(`${indent}${label}: ${hops.map(to).join(' → ')}`);
  }
  const lost = Object.entries(step.pings).filter(([, count]) => count.lost > 0);
  const sent = Object.values(step.pings).reduce((sum, count) => sum + count.sent, 0);
  const losses = lost.map(([pod, count]) => `${pod} lost ${count.lost} of ${count.sent}`);
  lines.push(`${indent}${sent} pings: ${losses.join(', ') || 'none lost'}`);
  for (const { what, ok, why } of step.expectations) {
    lines.push(`${indent}${ok ? 'ok    ' : 'FAILED'}  ${what}${ok ? '' : `: ${why}`}`);
  }
  return `${lines.join('\n')}\n`;
}

function endText(report: ReplayReport, columns: number): string {
  const verdicts = report.steps.flatMap(({ expectations }) => expectations);
  const failed = verdicts.filter(({ ok }) => !ok).length;
  const table = renderTable(
    ['POD', 'NODE', 'ADDRESS', 'SENT', 'LOST', 'LONGEST SILENCE'],
    report.pings.map(({ pod, node, address, sent, lost, longestSeconds }) => [
      pod,
      node,
      address,
      String(sent),
      String(lost),
      lost === 0 ? '-' : `${longestSeconds.toFixed(1)} s`,
    ]),
    columns,
  );
  const software = report.software.join(', ');
  const verdict =
    failed === 0 ? 'as expected' : `${failed} of ${verdicts.length} expectations failed`;
  const figures = Object.entries(report.figures).map(([name, value]) => `${name}: ${value}\n`);
  return `\n${table}${figures.join('')}${report.name} on ${software}: ${verdict}, ${report.seconds.toFixed(1)} s\n`;
}
