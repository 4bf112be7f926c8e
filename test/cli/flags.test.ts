/**
 * Every flag of every command with values that cannot work, and every flag that
 * names a file with files of every wrong kind: a sentence that says what and where,
 * the right exit code, and never a stack, a bug of ours, or an error number alone.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, expect, test } from 'vitest';
import { hostileText, terminalCodes } from '../parts/terminal-codes.ts';
import { everyCommand, fixture, neededWords, run } from './collecting-terminal.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-flags-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const at = (name: string) => join(dir, name);
mkdirSync(at('folder'));
writeFileSync(at('empty'), '');
writeFileSync(at('binary'), Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 37) % 256)));
writeFileSync(at('words'), 'hello, world\n');
writeFileSync(at('json'), '{"a": [1, {"b": null}]}');

/** In place of a file. /proc/self/mem cannot be read at its start, /dev/zero has no end. */
const files = [
  ...[at('missing'), at('empty'), at('folder'), at('binary'), at('words'), at('json')],
  ...[join(at('words'), 'x'), '/proc/self/mem', '/dev/zero', '', `${dir}/${'x'.repeat(300)}`],
];
const values = [
  ...['', ' ', '-1', '0', '1.5', '99999999999999999999', '1e9', 'NaN', 'Infinity', '0x10', 'x'],
  ...['../..', 'a=b=c', 'a/b/c', '[::', '10.0.0.0/33', '10.0.0.1/8', '::/0', '127.0.0.1:99999'],
  ...[':', ',', '-', '--', 'x'.repeat(10_000), hostileText, '__proto__', 'constructor'],
];

const fileFlags =
  /^--(kubeconfig|from|rib|pools|config|cilium-config|bgp-config|token-file|console-token-file)$/;
/** Folders and sockets of running parts: `data-folder.ts` and the agent judge them. */
const placeFlags = /^--(data|state-dir|socket|netns)$/;

/** They change the machine, or run until they are stopped, once their flags are right. */
const acting =
  /^(up|cni uninstall|lab (cluster )?(up|exec|pod|replay|down|router|api-server|forward))$/;

/** Enough to come to the flag in question, and not to run on without it. */
function besides(name: string, command: Command, flag: string): string[] {
  const has = (long: string) => command.options.some((option) => option.long === long);
  if (name === 'bgp speak') return [];
  if (name === 'migrate apply') return ['node1', '--yes', '--kubeconfig', at('missing')];
  if (flag === '--from' || flag === '--kubeconfig') return [];
  const mode = /^--(cluster-pool-ipv4-mask|cluster-pool-ipv6|cooldown|release)/.test(flag)
    ? ['--ipam', 'cluster-pool', '--cluster-pool-ipv4-cidr', '10.0.0.0/8', '--enable-ipv6=true']
    : [];
  if (flag !== '--context' && has('--from')) return [...mode, '--from', fixture('register')];
  return has('--kubeconfig') ? [...mode, '--kubeconfig', at('missing')] : mode;
}

interface Tried {
  argv: string[];
  code: number;
  problem: string;
}

async function attempt(argv: string[]): Promise<Tried | undefined> {
  const { code, stdout, stderr } = await run(argv, '');
  const shown = argv.map((word) => (word.length > 80 ? `${word.slice(0, 20)}…` : word));
  const problems = [
    ...(/this is a bug/.test(stderr) ? ['a bug'] : []),
    ...(/^ {4}at /m.test(stderr) ? ['a stack'] : []),
    ...(/\bE[A-Z]{3,}\b/.test(stderr) ? ['an error number'] : []),
    ...(code === 2 && stdout !== '' ? ['an answer in spite of wrong usage'] : []),
    ...(code !== 0 && stderr === '' && stdout === '' ? ['no word'] : []),
    ...(terminalCodes(stdout + stderr).length > 0 ? ['codes'] : []),
    ...([0, 1, 2, 3].includes(code) ? [] : ['another exit code']),
  ];
  if (problems.length === 0) return undefined;
  return { argv: shown, code, problem: `${problems.join(', ')}: ${stderr.slice(0, 300)}` };
}

test('every flag of every command, with values that cannot work', async () => {
  const wrong: Tried[] = [];
  let tried = 0;
  /** The same flag of many commands is read by the same code: three of them tell. */
  const seen = new Map<string, number>();
  for (const { words, command } of await everyCommand()) {
    const name = words.join(' ');
    if (acting.test(name)) continue;
    for (const { long, required, optional, mandatory } of command.options) {
      if (long === undefined || long === null || !(required || optional)) continue;
      if (placeFlags.test(long) || (long === '--kernel' && name !== 'agent')) continue;
      const times = (seen.get(long) ?? 0) + 1;
      seen.set(long, times);
      if (times > 3 && !fileFlags.test(long)) continue;
      const needed = neededWords(command).slice(0, mandatory ? -2 : undefined);
      const isFile = fileFlags.test(long);
      for (const value of isFile ? files : values) {
        const given = long === '--rib' ? `tor1=${value}` : value;
        const fault = await attempt([
          ...[...words, ...needed, ...besides(name, command, long)],
          `${long}=${given}`,
        ]);
        if (fault !== undefined) wrong.push(fault);
        tried++;
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(tried).toBeGreaterThan(2_000);
}, 600_000);

test('a socket that is none, and a token file that holds no token', async () => {
  const wrong: Tried[] = [];
  for (const file of files) {
    for (const argv of [
      ['status', `--socket=${file}`],
      ['bgp', 'peers', `--socket=${file}`],
      ['up', '--port', '0', `--token-file=${file}`],
    ]) {
      const fault = await attempt(argv);
      if (fault !== undefined) wrong.push(fault);
    }
  }
  expect(wrong).toEqual([]);
}, 600_000);
