import type { Command } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { parsePrefix, prefixProblem } from '../../net/prefix.ts';
import { type Action, whatIf } from '../../plan/doctor/what-if.ts';
import { printAnswer } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { couldNotTell } from './doctor-command.ts';
import { addDoctorFlags, type DoctorFlagValues, gatherEvidence } from './doctor-flags.ts';
import { renderWhatIf } from './render-what-if.ts';

const examples = `
Examples:
  Before a node is taken out:
    $ cadastre whatif drain node1 --rib tor1=tor1.json --rib tor2=tor2.txt

  Before a range is taken back:
    $ cadastre whatif shrink-pool rack-83 10.5.83.0/25

  Before ten machines are bought:
    $ cadastre whatif add-nodes 10 --labels rack=83

Exit codes: 0 safe, 1 not, above 1 no answer.`;

export function registerWhatIf(program: Command, terminal: Terminal): void {
  const group = program
    .command('whatif')
    .summary('what would happen: a node drained, a pool shrunk, a router lost')
    .description('Says who would lose what, and what would move, before it is done. Only looks.')
    .addHelpText('after', examples);
  const ask = (command: Command, read: (words: string[], flags: WhatIfFlags) => Action) =>
    addDoctorFlags(command)
      .addHelpText('after', examplesOf(command.name()))
      .action(async (...all: unknown[]) => {
        terminal.failureCode = couldNotTell;
        const flags = all.at(-2) as WhatIfFlags;
        const action = read(all.slice(0, -2).flat() as string[], flags);
        await answer(action, flags, terminal);
      });
  ask(
    group.command('drain <node...>').description('the nodes leave, and their routes with them'),
    (nodes) => ({ kind: 'drain', nodes: [...new Set(nodes)] }),
  );
  ask(group.command('remove-pool <pool>').description('the pool is deleted'), ([pool = '']) => ({
    kind: 'remove-pool',
    pool,
  }));
  ask(
    group.command('shrink-pool <pool> <cidr>').description('the pool is left with this CIDR'),
    ([pool = '', cidr = '']) => ({ kind: 'shrink-pool', pool, to: readCidr(cidr) }),
  );
  ask(
    group
      .command('relabel <node> <label...>')
      .description("the node's labels change: key=value, or key- to remove"),
    ([node = '', ...labels]) => ({ kind: 'relabel', node, labels: readChanges(labels) }),
  );
  ask(
    group
      .command('add-nodes <count>')
      .description('so many new nodes join')
      .option('--labels <labels>', 'labels they have: key=value,key=value'),
    ([count = ''], { labels }) => ({
      kind: 'add-nodes',
      count: readCount(count),
      labels: readLabels(labels),
    }),
  );
  ask(
    group.command('lose-router <router>').description('the router of that --rib name goes away'),
    ([router = '']) => ({ kind: 'lose-router', router }),
  );
}

const actionExamples: Readonly<Record<string, string[]>> = {
  drain: ['node1', '--rib tor1=tor1.json --rib tor2=tor2.txt'],
  'remove-pool': ['rack-83'],
  'shrink-pool': ['rack-83 10.5.83.0/25'],
  relabel: ['node1 rack=94 old-label-'],
  'add-nodes': ['10 --labels rack=83'],
  'lose-router': ['tor1 --rib tor1=tor1.json', '--rib tor2=tor2.txt'],
};

function examplesOf(name: string): string {
  const [words = '', ...more] = actionExamples[name] ?? [];
  return `
Examples:
  ${['$ cadastre whatif', name, words, ...more].join(' ')}
  $ cadastre whatif ${name} ${words} --from cluster.json -o json

Exit codes: 0 safe, 1 not, above 1 no answer.`;
}

type WhatIfFlags = DoctorFlagValues & { labels?: string };

async function answer(action: Action, flags: WhatIfFlags, terminal: Terminal): Promise<void> {
  const evidence = await gatherEvidence(flags, terminal);
  for (const { name, kind, state, note } of evidence.sources) {
    const isWay = kind === 'rib' || kind === 'bgp' || kind === 'bmp';
    if (state === 'partly' || (state === 'unseen' && isWay))
      terminal.say(`not seen: ${name}: ${note}`);
  }
  const found = whatIf(evidence, action);
  if (found.kind === 'unknown') {
    throw new CadastreError('BAD_INPUT', `whatif ${action.kind}: no answer: ${found.why}`);
  }
  const { whatIf: answer } = found;
  await printAnswer(terminal, flags.output, {
    data: answer,
    names: answer.loses.map(({ node }) => `node/${node}`),
    table: (columns, isWide) => renderWhatIf(answer, columns, isWide),
  });
  terminal.exitCode = answer.safe ? 0 : 1;
}

function readCidr(text: string) {
  const problem = prefixProblem(text);
  const prefix = problem === undefined ? parsePrefix(text) : undefined;
  if (prefix === undefined) throw badUsage(`shrink-pool: ${problem}`);
  return prefix;
}

const mostNodes = 100_000;

function readCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= mostNodes) return count;
  throw badUsage(`add-nodes: "${text}" is not a whole number from 1 to ${mostNodes}`);
}

function readChanges(texts: readonly string[]): Record<string, string | null> {
  const changes: Record<string, string | null> = {};
  for (const text of texts) {
    const [, key, value] = /^([^=\s]+?)(?:=(.*)|-)$/.exec(text) ?? [];
    if (key === undefined) throw badUsage(`relabel: "${text}" is neither key=value nor key-`);
    changes[key] = value ?? null;
  }
  return changes;
}

function readLabels(text: string | undefined): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const part of (text ?? '').split(',').filter(Boolean)) {
    const at = part.indexOf('=');
    if (at <= 0) throw badUsage(`--labels=${text}: "${part}" is not key=value`);
    labels[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return labels;
}

function badUsage(message: string): CadastreError {
  return new CadastreError('BAD_USAGE', message);
}
