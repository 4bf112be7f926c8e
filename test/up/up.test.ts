/** `cadastre up` as a person uses it: nothing that was acknowledged is ever lost. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { changeTokenHeader } from '../../src/console/try-it.ts';
import { runBuilt } from '../cli/built-command.ts';
import { paste } from '../console/paste.ts';
import { kubectl } from '../parts/kubectl.ts';
import { killInTheMiddle } from './kill-in-the-middle.ts';
import { startUp, type UpProcess } from './up-process.ts';

let up: UpProcess;

beforeAll(async () => {
  up = await startUp();
}, 180_000);

afterAll(async () => {
  await up?.stop();
});

const names = async (kinds: string) => {
  const { stdout, stderr } = await kubectl(up, ['get', kinds, '-o', 'name']);
  expect(stderr).toBe('');
  return stdout.trim().split('\n').sort();
};

test('it says where it is and what to try', async () => {
  const told = () => readFileSync(join(up.dir, 'out.log'), 'utf8');
  await expect.poll(told).toContain('Ctrl-C stops everything');
  const said = told();
  expect(said).toContain(`console     ${up.url}/`);
  expect(said).toContain(`kubeconfig  ${up.kubeconfigPath}`);
  expect(said).toContain('Three things to try');
  console.log(`up: ready after ${(up.readyAfterMs / 1000).toFixed(1)} s on an empty folder`);
});

test('the three things to try work as they are printed', async () => {
  const said = readFileSync(join(up.dir, 'out.log'), 'utf8');
  const [address, ...commands] = [...said.matchAll(/^ {2}[123]\. (.*)$/gm)].map(([, one]) => one);
  const page = await fetch(String(address).replace(/: .*/, ''));
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>')]);
  for (const command of commands) {
    const { code, stdout, stderr } = await paste(command as string, up);
    expect(code, `${command}: ${stderr}`).toBe(0);
    expect(stdout, command).toContain('10.5.112.0/24');
  }
  expect(commands).toHaveLength(2);
});

test('kubectl sees nodes, pools, blocks and peers', async () => {
  expect(await names('nodes')).toEqual(
    ['master1', 'master2', 'master3', 'node1'].map((n) => `node/${n}`),
  );
  expect(await names('nodeblocks')).toHaveLength(4);
  expect(await names('ippools')).toHaveLength(3);
  expect(await names('bgppeers')).toHaveLength(2);
  const table = await kubectl(up, ['get', 'ippools,nodeblocks,nodes']);
  expect(table.stdout).toMatch(/nodeblock.*10\.5\.112\.0\/24 +rack-94 +master1 +Active/);
});

test('another user of this machine may look, and change nothing', async () => {
  const { address, changeToken } = await up.printed();
  expect(address).toBe(`${up.url}/#token=${changeToken}`);
  expect(changeToken).toMatch(/^[\w-]{43}$/);
  const before = [await names('nodes'), await names('nodeblocks')];
  const change = (action: string, headers: Record<string, string>) =>
    fetch(`${up.url}/api/try/${action}`, {
      method: 'POST',
      headers: { origin: up.url, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ node: 'master1', router: 'nowhere', on: true }),
    });
  const refused = await change('remove-node', {});
  expect([refused.status, await refused.json()]).toEqual([
    401,
    { error: expect.stringContaining('token'), remedy: expect.stringContaining('cadastre up') },
  ]);
  const page = await change('add-node', { accept: 'text/html', [changeTokenHeader]: 'guessed' });
  expect([page.status, page.headers.get('content-type')]).toEqual([
    401,
    'text/html; charset=utf-8',
  ]);
  expect(await page.text()).toContain('Open the address that cadastre up printed');
  expect([await names('nodes'), await names('nodeblocks')]).toEqual(before);
  // Whoever has the address is heard: here, that there is no such router.
  expect((await change('kill-router', { [changeTokenHeader]: changeToken })).status).toBe(409);
  const looked = await fetch(`${up.url}/api/state`);
  expect(looked.status).toBe(200);
  expect(await looked.text()).not.toContain(changeToken);
});

test('no other user can read a token: not on disk, not of the process', async () => {
  const { changeToken } = await up.printed();
  const { token } = JSON.parse(readFileSync(join(up.dataDir, 'api/identity.json'), 'utf8')) as {
    token: string;
  };
  for (const file of ['cmdline', 'environ']) {
    const text = readFileSync(`/proc/${up.part.pid}/${file}`, 'utf8');
    for (const secret of [token, changeToken]) expect(text, file).not.toContain(secret);
  }
  expect(statSync(up.dataDir).mode & 0o77).toBe(0);
  for (const path of readdirSync(up.dataDir, { recursive: true, encoding: 'utf8' })) {
    const full = join(up.dataDir, path);
    const found = existsSync(full) ? statSync(full) : undefined;
    if (!found?.isFile()) continue;
    const text = readFileSync(full, 'utf8');
    expect(text, path).not.toContain(changeToken);
    if (text.includes(token)) expect(found.mode & 0o77, path).toBe(0);
  }
});

test('Ctrl-C, and again: everything is as it was, pods included', async () => {
  const before = [await names('nodes'), await names('nodeblocks')];
  const pods = () =>
    Object.fromEntries(
      readdirSync(join(up.dataDir, 'nodes')).map((node) => [
        node,
        JSON.parse(readFileSync(join(up.dataDir, 'nodes', node, 'pods.json'), 'utf8')).length,
      ]),
    );
  await expect
    .poll(() => Object.values(pods()).every((count) => count > 3), { timeout: 60_000 })
    .toBe(true);
  await up.part.stop();
  expect(up.part.ended).toBe('exit 0');
  const kept = pods();
  await up.restart();
  expect([await names('nodes'), await names('nodeblocks')]).toEqual(before);
  for (const [node, count] of Object.entries(kept)) {
    // One pod may have come or gone since.
    expect(Math.abs((pods()[node] ?? 0) - count), node).toBeLessThanOrEqual(2);
  }
  console.log(
    `up: ready after ${(up.readyAfterMs / 1000).toFixed(1)} s on a folder that is set up`,
  );
});

test('kill -9 in the middle of writes, three times: nothing acknowledged is lost', async () => {
  const told = await killInTheMiddle(up, 3);
  expect(told.lost).toEqual([]);
  expect(told.acknowledged).toBeGreaterThan(0);
  console.log(`up: ${told.acknowledged} writes acknowledged before 3 kills, none lost`);
}, 180_000);

test('bad input is refused with what, where and what to do, and nothing is touched', async () => {
  for (const [args, words] of [
    [['--nodes', 'many'], '--nodes=many is not a whole number from 0 to 2000'],
    [['--port', '70000'], '--port=70000 is not a whole number from 0 to 65535'],
    [['--topology', 'nowhere'], 'There are by-demand, dual-stack, incident,'],
    [['--host', '0.0.0.0'], 'a console on 0.0.0.0 needs --token-file'],
    [['--data', '/etc/hostname'], '--data=/etc/hostname cannot be written to: '],
    [['--data', '/proc/nowhere'], '--data=/proc/nowhere cannot be written to: '],
  ] as const) {
    const { code, stderr } = await runBuilt(['up', '--data', join(up.dir, 'other'), ...args]);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(words);
  }
  const missing = await runBuilt([
    'up',
    '--data',
    join(up.dir, 'other'),
    '--topology',
    './no.yaml',
  ]);
  expect(missing.code, missing.stderr).toBe(1);
  expect(missing.stderr).toContain('./no.yaml: ENOENT');
  // Whoever may write there could have put an API server's token there.
  const shared = join(up.dir, 'shared');
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  const open = await runBuilt(['up', '--data', shared]);
  expect(open.code, open.stderr).toBe(2);
  expect(open.stderr).toContain(`--data=${shared} can be written to by every user`);
  expect(readdirSync(shared)).toEqual([]);
  expect(readdirSync(up.dir)).not.toContain('other');
  const taken = await runBuilt(['up', '--data', up.dataDir, '--port', '0']);
  expect(taken.code, taken.stderr).toBe(1);
  expect(taken.stderr).toMatch(/in use|locked/i);
  const elsewhere = ['up', '--data', join(up.dir, 'elsewhere'), '--port', String(up.port)];
  const busy = await runBuilt(elsewhere);
  expect(busy.code, busy.stderr).toBe(2);
  expect(busy.stderr).toContain(`127.0.0.1:${up.port}: somebody listens there already`);
});

test("a site in the lab's form", async () => {
  const site = await startUp([
    '--topology',
    join(import.meta.dirname, '../../topologies/two-racks.yaml'),
  ]);
  try {
    const { stdout } = await kubectl(site, ['get', 'nodeblocks', '-o', 'wide', '--no-headers']);
    for (const node of ['a1', 'a2', 'b1', 'b2']) expect(stdout).toContain(` ${node} `);
    const held = async () => {
      const { changes } = (await (await fetch(`${site.url}/api/state`)).json()) as {
        changes: Array<[string, string, { held: unknown[] }]>;
      };
      return changes
        .filter(([kind]) => kind === 'router')
        .map(([, name, router]) => [name, router.held.length])
        .sort();
    };
    await expect.poll(held, { timeout: 60_000 }).toEqual([
      ['r238', 2],
      ['r239', 2],
      ['r250', 2],
      ['r251', 2],
    ]);
  } finally {
    await site.stop();
  }
});
