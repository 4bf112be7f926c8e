/**
 * Names, messages and reasons that a router, a kubelet or an API server chose,
 * with codes in them that a terminal obeys: no view prints any, in any format.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { encodeNotification } from '../../src/bgp/wire/message.ts';
import { runs } from '../parts/random.ts';
import { hostileText, terminalCodes } from '../parts/terminal-codes.ts';
import { runBuilt } from './built-command.ts';
import { fixture, run, type Told } from './collecting-terminal.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-hostile-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const clusters = ['sessions', 'register', 'history'].map((name) =>
  parseAllDocuments(readFileSync(join(fixture(name), 'cluster.yaml'), 'utf8')).map((document) =>
    document.toJS(),
  ),
);

/** Every string of the objects that is not the kind of an object or of a field. */
function textsOf(value: unknown, into = new Set<string>()): Set<string> {
  if (typeof value === 'string') into.add(value);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, one] of Object.entries(value)) {
      if (key !== 'apiVersion' && key !== 'kind') textsOf(one, into);
    }
  }
  return into;
}

/** The same objects with one text replaced wherever it stands, so that they still refer to each other. */
function replaced(objects: unknown, from: string, to: string): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, (key, value) =>
    value === from && key !== 'apiVersion' && key !== 'kind' ? to : value,
  );
}

const commands = [
  'nodes',
  'pools',
  'blocks',
  'plan',
  'doctor',
  'whatif drain',
  'explain',
  'ipam show --show-blocks',
  'migrate plan',
  'migrate status',
  'bgp peers',
  'bgp routes',
];
const formats = ['table', 'wide', 'json', 'yaml', 'name'];
const takesName = (command: string) => command === 'whatif drain' || command === 'explain';

/** Nothing that a terminal obeys, and no line that somebody else wrote. */
function expectPrintable({ stdout, stderr }: Told): void {
  expect([terminalCodes(stdout), terminalCodes(stderr)]).toEqual([[], []]);
  expect(`${stdout}${stderr}`).not.toMatch(/^node9 {2}Ready/m);
}

const anyText = fc.oneof(
  fc.constant(hostileText),
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.constantFrom(...hostileText),
);

describe('every view', () => {
  test('prints no code that a terminal obeys, wherever it stands in the objects', async () => {
    const places = fc.constantFrom(
      ...clusters.flatMap((objects) => [...textsOf(objects)].map((from) => ({ objects, from }))),
    );
    await fc.assert(
      fc.asyncProperty(
        ...[places, anyText, fc.constantFrom(...commands), fc.constantFrom(...formats)],
        async ({ objects, from }, text, command, format) => {
          const path = join(dir, 'cluster.json');
          writeFileSync(path, replaced(objects, from, `${from}${text}`));
          const name = takesName(command) ? [`${from}${text}`.replace(/^-/, '')] : [];
          expectPrintable(
            await run([...command.split(' '), ...name, '--from', path, '-o', format]),
          );
        },
      ),
      { numRuns: runs(300) },
    );
  });

  test.each([
    ['nodes', 'master1'],
    ['bgp peers', 'connection refused'],
    ['explain 10.5.113.0/24', 'master1'],
    ['pools', 'pods'],
  ])('%s shows "%s" and what follows it', async (command, from) => {
    const path = join(dir, 'shown.json');
    writeFileSync(path, replaced(clusters[0], from, `${from} ${hostileText}`));
    const told = await run([...command.split(' '), '--from', path]);
    expectPrintable(told);
    expect(told.stdout).toContain('tor1\\u001b[2J\\u001b[31m\\u009b1A');
    const name = `hostile-${command.split(' ').slice(0, 2).join('-')}-${from.split(' ')[0]}`;
    await expect(told.stdout).toMatchFileSnapshot(`./golden/${name.replaceAll('/', '-')}.txt`);
  });

  test('no line of an answer is made by a name', async () => {
    const path = join(dir, 'lines.json');
    for (const from of ['master1', 'pods', 'tor1']) {
      const name = `${from}${hostileText}`;
      writeFileSync(path, replaced(clusters[0], from, name));
      for (const command of commands) {
        const words = takesName(command) ? [name] : [];
        for (const format of ['table', 'wide', 'name']) {
          const argv = [...command.split(' '), ...words, '--from', path, '-o', format];
          expectPrintable(await run(argv));
        }
      }
    }
  });

  test('-o name prints one line for each name', async () => {
    const path = join(dir, 'names.json');
    writeFileSync(path, replaced(clusters[0], 'master1', hostileText));
    const told = await run(['nodes', '--from', path, '-o', 'name']);
    expectPrintable(told);
    expect(told.stdout.trimEnd().split('\n')).toHaveLength(2);
  });

  test.each(['json', 'yaml'])('-o %s is the same data, escaped', async (format) => {
    const path = join(dir, 'data.json');
    const name = `master1${hostileText.replace('\ud800', '')}`;
    writeFileSync(path, replaced(clusters[0], 'master1', name));
    const told = await run(['nodes', '--from', path, '-o', format]);
    expectPrintable(told);
    const data = format === 'json' ? JSON.parse(told.stdout) : parse(told.stdout);
    expect(JSON.stringify(data)).toContain(JSON.stringify(name).slice(1, -1));
  });
});

describe('words of others', () => {
  test("a router's shutdown message, decoded", async () => {
    const words = hostileText.replace('\ud800', '');
    const hex = Buffer.from(
      encodeNotification({ code: 6, subcode: 2, shutdownCommunication: words }),
    ).toString('hex');
    for (const [argv, stdin] of [
      [['bgp', 'decode', hex], ''],
      [['bgp', 'decode', '-'], `${hex}\n`],
    ] as const) {
      const told = await runBuilt(argv, { stdin });
      expectPrintable(told);
      expect(JSON.parse(told.stdout).shutdownCommunication).toBe(words);
    }
  });

  test("the body of an API server's error", async () => {
    const server = createServer((_, answer) => {
      answer.writeHead(403, { 'content-type': 'application/json' });
      answer.end(JSON.stringify({ kind: 'Status', reason: hostileText, message: hostileText }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const path = join(dir, 'kubeconfig');
    const { port } = server.address() as AddressInfo;
    writeFileSync(
      path,
      JSON.stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'x' } }],
        clusters: [{ name: 'x', cluster: { server: `http://127.0.0.1:${port}` } }],
      }),
    );
    const told = await run(['nodes', '--kubeconfig', path]);
    await new Promise((resolve) => server.close(resolve));
    expect(told.code).toBe(1);
    expect(told.stderr).toContain('was answered 403');
    expectPrintable(told);
  });
});
