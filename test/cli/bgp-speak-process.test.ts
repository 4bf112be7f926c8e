/** `cadastre bgp speak` as a process of its own, told what to do by signals as a service manager does. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Collector } from '../../src/bgp/collector.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';

let folder: string;
let collector: Collector;
let speaker: PartProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cad-speak-process-'));
  collector = new Collector({ listen: { address: '127.0.0.2', port: 0 } });
  await collector.listen();
  const router = { asn: 64513, localAsn: 64524, routerId: '10.0.0.2', isPassive: true };
  collector.setPeers([
    { name: 'node', address: '127.0.0.1', gracefulRestartSeconds: 60, ...router },
  ]);
});
afterEach(async () => {
  await speaker?.kill9();
  await collector.close();
  rmSync(folder, { recursive: true });
});

const configPath = () => join(folder, 'speak.yaml');
const configure = (...prefixes: string[]) =>
  writeFileSync(
    configPath(),
    `asn: 64513
router-id: 10.0.0.1
listen: false
graceful-restart: { time: 60s, state-file: ${join(folder, 'mark')} }
peers:
  - { name: router, address: 127.0.0.2, local-address: 127.0.0.1, port: ${collector.port}, asn: 64524, connect-retry: 1s, next-hop: { ipv4: 10.4.94.32 } }
announcements:
${prefixes.map((prefix) => `  - prefix: ${prefix}\n`).join('')}`,
  );

async function speak(...flags: string[]): Promise<void> {
  speaker = startPart({
    name: 'speaker',
    binary: process.execPath,
    args: [await cadastreProgram(), 'bgp', 'speak', '--config', configPath(), ...flags],
    logFile: join(folder, 'speaker.log'),
    dir: folder,
  });
}

const said = () => readFileSync(join(folder, 'speaker.log'), 'utf8');
const signal = (name: NodeJS.Signals) => process.kill(speaker!.pid, name);
const held = () =>
  collector
    .routesOf('node')
    .map(({ prefix }) => String(prefix))
    .sort();
const holds = (...prefixes: string[]) => eventually(() => expect(held()).toEqual(prefixes));

test('SIGHUP reads the file again, SIGUSR1 reports, SIGTERM takes the routes back', async () => {
  configure('10.0.0.0/24');
  await speak();
  await holds('10.0.0.0/24');
  configure('10.0.1.0/24', '10.0.2.0/24');
  signal('SIGHUP');
  await holds('10.0.1.0/24', '10.0.2.0/24');
  writeFileSync(configPath(), 'asn: nonsense\n');
  signal('SIGHUP');
  await eventually(() =>
    expect(said()).toContain('configuration not reloaded; the running one stays in force'),
  );
  signal('SIGUSR1');
  const line = await eventually(() => {
    const found = said()
      .split('\n')
      .find((one) => one.startsWith('{"peers"'));
    if (found === undefined) throw new Error(`no report in:\n${said()}`);
    return found;
  });
  expect(JSON.parse(line).peers).toMatchObject([
    { name: 'router', state: 'Established', announced: 2 },
  ]);
  expect(held()).toEqual(['10.0.1.0/24', '10.0.2.0/24']);
  await speaker!.stop();
  expect(speaker!.ended).toBe('exit 0');
  await holds();
}, 120_000);

test('--exit restart and kill -9 leave the routes with the router until it is back', async () => {
  configure('10.0.0.0/24');
  await speak('--exit', 'restart');
  await holds('10.0.0.0/24');
  for (const end of [() => speaker!.stop(), () => speaker!.kill9()]) {
    await end();
    await eventually(() => expect(collector.peers()[0]?.isRestarting).toBe(true));
    expect(held()).toEqual(['10.0.0.0/24']);
    await speak('--exit', 'restart');
    await eventually(() => {
      expect(collector.peers()[0]?.state).toBe('Established');
      expect(held()).toEqual(['10.0.0.0/24']);
    });
  }
}, 120_000);
