/** The routers' commands of docs/runbook.md, asked of the routers themselves, each alone on loopback. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { fencesOf, textOf } from '../docs-text.ts';
import { freePort } from '../parts/free-port.ts';
import { commandsOf, wordsOf } from '../shell-lines.ts';

const page = 'docs/runbook.md';
const lines = [
  ...fencesOf(page).flatMap(commandsOf),
  ...[...textOf(page).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!),
];
const values: Record<string, string> = { CIDR: '10.5.113.0/24', ADDRESS: '127.0.0.9', NAME: 'r1' };
const commandsFor = (program: string) => {
  const own = lines.filter((line) => line.startsWith(`${program} `));
  return [...new Set(own)].map((line) =>
    wordsOf(line)
      .slice(1)
      .map((word) => word.replace(/\b[A-Z]{4,}\b/g, (name) => values[name] ?? name)),
  );
};

const dir = mkdtempSync(join(tmpdir(), 'cadastre-runbook-'));
const api = await freePort();
const listen = await freePort();
const config = (name: string, text: string) => {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, 0o600);
  return path;
};

interface Router {
  program: string;
  /** How its command finds this one. */
  at: string[];
  start(): ChildProcess;
}

const routers: Record<string, Router> = {
  FRR: {
    program: 'vtysh',
    at: ['--vty_socket', dir],
    start: () => {
      const path = config('frr.conf', 'router bgp 64524\n neighbor 127.0.0.9 remote-as 64513\n');
      const id = (flag: string) => Number(execFileSync('id', [flag, 'frr'], { encoding: 'utf8' }));
      for (const one of [dir, path]) chownSync(one, id('-u'), id('-g'));
      const files = ['-f', path, '-i', join(dir, 'frr.pid'), '--vty_socket', dir];
      return spawn('/usr/lib/frr/bgpd', ['-n', '-Z', '-M', 'bmp', '-P', '0', '-p', '0', ...files]);
    },
  },
  BIRD: {
    program: 'birdc',
    at: ['-s', join(dir, 'bird.ctl')],
    start: () => {
      const route = 'protocol static r1 { ipv4; route 10.5.113.0/24 blackhole; }\n';
      const path = config('bird.conf', `router id 10.0.0.1;\n${route}`);
      return spawn('bird', ['-f', '-c', path, '-s', join(dir, 'bird.ctl')]);
    },
  },
  GoBGP: {
    program: 'gobgp',
    at: ['-p', `${api}`],
    start: () => {
      const own = '[global.config]\nas = 64524\nrouter-id = "10.0.0.1"\nport = -1\n';
      const peer =
        '[[neighbors]]\n[neighbors.config]\nneighbor-address = "127.0.0.9"\npeer-as = 64513\n';
      const path = config('gobgp.toml', own + peer);
      return spawn('gobgpd', ['-f', path, `--api-hosts=127.0.0.1:${api}`, '--pprof-disable']);
    },
  },
  OpenBGPD: {
    program: 'bgpctl',
    at: ['-s', join(dir, 'openbgpd.sock')],
    start: () => {
      mkdirSync('/run/openbgpd', { recursive: true });
      const own = `AS 64524\nrouter-id 10.0.0.1\nlisten on 127.0.0.1 port ${listen}\n`;
      const rest = `socket "${join(dir, 'openbgpd.sock')}"\nneighbor 127.0.0.9 { remote-as 64513 }\n`;
      return spawn('bgpd', ['-d', '-f', config('openbgpd.conf', own + rest)]);
    },
  },
};

const started: ChildProcess[] = [];
afterAll(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
  rmSync(dir, { recursive: true, force: true });
});

describe.each(Object.entries(routers))('%s', (_, { program, at, start }) => {
  const ask = (words: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(program, [...at, ...words], { encoding: 'utf8' });
    return { status, said: stdout + stderr };
  };

  test('understands every command of the run book', { timeout: 120_000 }, async () => {
    const commands = commandsFor(program);
    expect(commands.length).toBeGreaterThanOrEqual(3);
    const child = start();
    started.push(child);
    while (
      ask(commands[0]!).status !== 0 ||
      /unable to connect|Unable to/i.test(ask(commands[0]!).said)
    ) {
      expect(child.exitCode).toBeNull();
      await sleep(100);
    }
    for (const words of commands) {
      const { status, said } = ask(words);
      const about = `${program} ${words.join(' ')}: ${said}`;
      expect(said, about).not.toMatch(
        /unknown command|ambiguous|syntax error|unknown argument|usage:/i,
      );
      expect(status, about).toBe(0);
    }
  });
});
