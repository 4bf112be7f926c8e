import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { CrashingFiles } from '../../../test/parts/crashing-files.ts';
import { RecordingDriver } from '../../../test/parts/recording-driver.ts';
import { silentLog } from '../../base/log.ts';
import { Metrics } from '../../base/metrics.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { AddressBook } from '../address-book.ts';
import { type CniInput, machineMonotonicMs, supportedVersions } from './cni-call.ts';
import { CniServer } from './cni-server.ts';
import { DelSpool, spoolName } from './del-spool.ts';

let nowMs: number;
let files: CrashingFiles;
let book: AddressBook;
let driver: RecordingDriver;
let server: CniServer;
let limitation: string | undefined;
let wasReadyLately = false;
let notReady: string | undefined;

beforeEach(async () => {
  nowMs = 0;
  limitation = undefined;
  wasReadyLately = false;
  notReady = undefined;
  files = new CrashingFiles();
  const clock = { wallMs: () => 0, monotonicMs: () => nowMs };
  book = await AddressBook.open({ files, folder: '/state', clock, restMs: 0 });
  setBlocks('10.0.0.0/24', 'fd00::/64');
  driver = new RecordingDriver();
  for (const name of ['a', 'b', 'c', 'node']) driver.namespaces.add(`/run/netns/${name}`);
  server = new CniServer({
    book,
    driver,
    mtu: () => 1450,
    limitation: () => limitation,
    readyMark: {
      touch: () => undefined,
      get isFresh() {
        return wasReadyLately;
      },
    },
    notReady: () => notReady,
  });
});

function setBlocks(...blocks: string[]): void {
  book.setBlocks(blocks.map((text) => ({ prefix: parsePrefix(text)!, isDraining: false })));
}

interface Call extends Partial<Omit<CniInput, 'stdin'>> {
  stdin?: string;
  config?: object;
}

// biome-ignore lint/suspicious/noExplicitAny: results are compared, not used
type Told = any;

async function call(command: string, { config = {}, ...more }: Call = {}): Promise<Told> {
  const stdin = JSON.stringify({ cniVersion: '1.1.0', name: 'pods', type: 'cadastre', ...config });
  const answer = await server.handle({
    command,
    containerId: 'a',
    netns: '/run/netns/a',
    ifname: 'eth0',
    args: '',
    plugin: 'cadastre',
    stdin,
    ...more,
  });
  // Through JSON, as on the wire.
  const body = answer.body === undefined ? undefined : JSON.parse(JSON.stringify(answer.body));
  expect(answer.isError).toBe(body?.code !== undefined);
  return body;
}

const pod = (name: string): Call => ({ containerId: name, netns: `/run/netns/${name}` });
const code = async (answer: Promise<Told>) => (await answer)?.code;
const nothingLeft = () => expect([book.use()[0]?.pods ?? 0, driver.wired.size]).toEqual([0, 0]);

describe('ADD', () => {
  test('one whose plugin has stopped waiting is not done; one whose plugin waits is', async () => {
    const late = await call('ADD', { giveUpAtMs: machineMonotonicMs() - 1 });
    expect(late).toMatchObject({ code: 11, details: 'the runtime asks again' });
    expect(late.msg).toBe('the plugin stopped waiting for this ADD 1 s ago; nothing was made');
    nothingLeft();
    // A DEL is done whenever it comes: nobody has to wait for it.
    expect(await code(call('ADD', { giveUpAtMs: machineMonotonicMs() + 60_000 }))).toBeUndefined();
    expect(await code(call('DEL', { giveUpAtMs: machineMonotonicMs() - 1 }))).toBeUndefined();
    nothingLeft();
  });

  test('the result in 1.1.0', async () => {
    const dns = { nameservers: ['10.96.0.10'] };
    const host = expect.stringMatching(/^cad[0-9a-f]{12}$/);
    expect(await call('ADD', { config: { dns } })).toEqual({
      cniVersion: '1.1.0',
      interfaces: [
        { name: host, mac: '02:00:00:00:00:01', mtu: 1450 },
        { name: 'eth0', mac: '02:00:00:00:00:02', mtu: 1450, sandbox: '/run/netns/a' },
      ],
      ips: [
        { interface: 1, address: '10.0.0.2/32', gateway: '169.254.1.1' },
        { interface: 1, address: 'fd00::2/128', gateway: 'fe80::1' },
      ],
      routes: [
        { dst: '0.0.0.0/0', gw: '169.254.1.1' },
        { dst: '::/0', gw: 'fe80::1' },
      ],
      dns,
    });
  });

  test.each(['0.3.1', '0.4.0'])(
    '%s names the version of every address and no MTU',
    async (cniVersion) => {
      const result = await call('ADD', { config: { cniVersion } });
      expect(result.cniVersion).toBe(cniVersion);
      expect(result.ips.map((ip: Told) => ip.version)).toEqual(['4', '6']);
      expect(result.interfaces[1]).not.toHaveProperty('mtu');
    },
  );

  test('1.0.0 has neither', async () => {
    const result = await call('ADD', { config: { cniVersion: '1.0.0' } });
    expect(result.ips[0]).not.toHaveProperty('version');
    expect(result.interfaces[1]).not.toHaveProperty('mtu');
  });

  test('as IPAM plugin it gives addresses in their block and touches no interface', async () => {
    const routes = [{ dst: '0.0.0.0/0' }];
    const config = { type: 'ptp', ipam: { type: 'cadastre', families: ['ipv4'], routes } };
    expect(await call('ADD', { config })).toEqual({
      cniVersion: '1.1.0',
      ips: [{ address: '10.0.0.2/24', gateway: '10.0.0.1' }],
      routes,
      dns: {},
    });
    expect(driver.calls).toEqual([]);
    expect(await call('DEL', { config })).toBeUndefined();
    nothingLeft();
  });

  test.each<[string, Call]>([
    ['the ips capability', { config: { runtimeConfig: { ips: ['10.0.0.9/24'] } } }],
    ['args', { config: { args: { cni: { ips: ['10.0.0.9'] } } } }],
    ['CNI_ARGS', { args: 'IgnoreUnknown=1;IP=10.0.0.9' }],
  ])('a requested address, by %s', async (_, asked) => {
    expect((await call('ADD', asked)).ips[0].address).toBe('10.0.0.9/32');
    const other = { ...asked, ...pod('b') };
    expect(await code(call('ADD', other))).toBe(103);
  });

  test('a namespace that a process names, unseen: the answer says what the agent lacks', async () => {
    expect(await call('ADD', { netns: '/proc/4711/ns/net' })).toMatchObject({
      code: 3,
      msg: 'there is no network namespace at /proc/4711/ns/net',
      details: expect.stringContaining('hostPID: true and the capability SYS_PTRACE'),
    });
    expect((await call('ADD', { netns: '/run/netns/gone' })).details ?? '').not.toContain(
      'hostPID',
    );
  });

  test('a second ADD is refused; the first one keeps its address', async () => {
    await call('ADD');
    expect(await call('ADD')).toMatchObject({
      code: 104,
      msg: expect.stringContaining('10.0.0.2'),
    });
    expect(driver.wired.size).toBe(1);
    expect(book.use()[0]?.pods).toBe(1);
    expect((await call('ADD', { ifname: 'eth1' })).ips[0].address).toBe('10.0.0.3/32');
  });

  test('two at the same moment: one is refused', async () => {
    const codes = await Promise.all([code(call('ADD')), code(call('ADD'))]);
    expect(codes).toEqual([undefined, 104]);
  });

  test('one that was cut off half way is done again from the start', async () => {
    const attachment = { network: 'pods', containerId: 'a', ifname: 'eth0', netns: '/run/netns/a' };
    await book.allocate({
      owner: 'cni:pods/a/eth0',
      families: ['ipv4', 'ipv6'],
      expiryMs: 60_000,
      attachment,
    });
    expect((await call('ADD')).ips[0].address).toBe('10.0.0.3/32');
    expect(book.use()[0]?.pods).toBe(1);
  });

  test('an interface that is left of a lost state is replaced; another program is not touched', async () => {
    await call('ADD');
    await book.release('cni:pods/a/eth0');
    expect((await call('ADD')).ips[0].address).toBe('10.0.0.3/32');
    driver.foreignLinks.add('/run/netns/b eth0');
    expect(await code(call('ADD', pod('b')))).toBe(100);
    expect(driver.wired.size).toBe(1);
    expect(book.use()[0]?.pods).toBe(1);
  });
});

describe('ADD that fails leaves nothing behind', () => {
  test.each<[string, number, Call]>([
    ['no JSON', 6, { stdin: '{' }],
    ['no object', 7, { stdin: '[]' }],
    ['no name', 7, { config: { name: undefined } }],
    ['another type', 7, { config: { type: 'bridge' } }],
    ['a broken MTU', 7, { config: { mtu: 'big' } }],
    ['a broken family', 7, { config: { families: ['ipx'] } }],
    ['a broken section', 7, { config: { ipam: 'cadastre' } }],
    ['a broken requested address', 7, { args: 'IP=10.0.0' }],
    ['a plugin before it', 7, { config: { prevResult: { ips: [] } } }],
    ['an unknown version', 1, { config: { cniVersion: '0.2.0' } }],
    ['no version', 1, { config: { cniVersion: undefined } }],
    ['a container without name', 4, { containerId: '' }],
    ['a container with a path', 4, { containerId: '../x' }],
    ['a bad interface name', 4, { ifname: 'a/b' }],
    ['a long interface name', 4, { ifname: 'abcdefghijklmnop' }],
    ['no namespace', 4, { netns: '' }],
    ['a namespace that is not there', 3, { netns: '/run/netns/gone' }],
    ["the node's own namespace", 4, { netns: '/run/netns/node' }],
    ['an address of another node', 103, { args: 'IP=10.9.9.9' }],
  ])('%s: %i', async (_, want, bad) => {
    const answer = await call('ADD', bad);
    expect(answer).toMatchObject({ code: want, msg: expect.any(String) });
    nothingLeft();
  });

  test('IPv6 where there is none', async () => {
    setBlocks('10.0.0.0/24');
    const both = { config: { families: ['ipv4', 'ipv6'] } };
    expect(await call('ADD', both)).toMatchObject({
      code: 102,
      msg: 'this node has no IPv6 block',
    });
    nothingLeft();
  });

  test('no block yet, and one that was taken away', async () => {
    await call('ADD');
    setBlocks();
    notReady = 'WaitingForBlocks: the pool is full';
    expect(await call('ADD', pod('b'))).toMatchObject({ code: 11, details: notReady });
    expect(await call('DEL')).toBeUndefined();
    expect(driver.wired.size).toBe(0);
  });

  test('a full block', async () => {
    setBlocks('10.0.0.0/30');
    await call('ADD');
    expect(await code(call('ADD', pod('b')))).toBe(101);
    await call('DEL');
    expect(await code(call('ADD', pod('b')))).toBeUndefined();
  });

  test('wiring that fails', async () => {
    driver.failing = 'wire';
    expect(await call('ADD')).toMatchObject({ code: 100, msg: 'the kernel refused to wire' });
    nothingLeft();
  });

  test('a disk that is full, at every step of it', async () => {
    for (let step = 0; step < 6; step++) {
      let operation = 0;
      files.failing = () => operation++ >= step;
      const answer = await call('ADD');
      files.failing = undefined;
      // One write and one sync at the least.
      if (answer.code === undefined) return expect(step).toBeGreaterThan(1);
      expect(answer.code, `step ${step}`).toBe(105);
      expect(driver.wired.size).toBe(0);
      // If not even the release could be written, it expires.
      nowMs += 60_000;
      await server.sweep();
      nothingLeft();
    }
    throw new Error('ADD never worked');
  });
});

describe('DEL', () => {
  test('is fine with what is not there, twice, and without a namespace', async () => {
    expect(await call('DEL')).toBeUndefined();
    await call('ADD');
    driver.namespaces.clear();
    expect(await call('DEL', { netns: '' })).toBeUndefined();
    expect(await call('DEL')).toBeUndefined();
    nothingLeft();
  });

  test('keeps the address as long as the interface cannot be removed', async () => {
    await call('ADD');
    driver.failing = 'unwire';
    expect(await code(call('DEL'))).toBe(100);
    expect(book.use()[0]?.pods).toBe(1);
    driver.failing = undefined;
    expect(await call('DEL')).toBeUndefined();
    nothingLeft();
  });
});

describe('DEL on a full disk', () => {
  beforeEach(async () => {
    await call('ADD');
    files.failing = () => true;
    expect(await call('DEL')).toBeUndefined();
    expect(driver.wired.size).toBe(0);
  });

  test('lets the pod end; nobody gets its address before that is on disk', async () => {
    await expect(server.sweep()).rejects.toMatchObject({ code: 'STATE_NOT_WRITTEN' });
    // Gone is gone: no other program did it, though the namespace is still there.
    expect([server.repairedPods, driver.wired.size]).toEqual([0, 0]);
    expect(book.use()[0]?.pods).toBe(1);
    files.failing = undefined;
    expect(await server.sweep()).toBe(1);
    nothingLeft();
  });

  test('the same container may come back when there is room', async () => {
    expect(await code(call('ADD'))).toBe(105);
    files.failing = undefined;
    expect(await code(call('ADD'))).toBeUndefined();
    await server.sweep();
    expect([book.use()[0]?.pods, driver.wired.size]).toEqual([1, 1]);
  });
});

describe('CHECK', () => {
  test('finds what is not as ADD left it', async () => {
    const prevResult = await call('ADD');
    const config = { prevResult };
    expect(await call('CHECK', { config })).toBeUndefined();
    expect(await code(call('CHECK'))).toBe(7);
    expect(await code(call('CHECK', { config: { prevResult: { ips: [] } } }))).toBe(106);
    driver.wired.clear();
    expect(await call('CHECK', { config })).toMatchObject({
      code: 106,
      msg: expect.stringContaining('the host has no interface'),
    });
    await call('DEL');
    expect(await code(call('CHECK', { config }))).toBe(106);
  });

  test('came with 0.4.0', async () => {
    expect(await code(call('CHECK', { config: { cniVersion: '0.3.1' } }))).toBe(1);
  });
});

describe('STATUS', () => {
  test('a full block is no error: what runs is well, and ADD says why it fails', async () => {
    expect(await call('STATUS', { containerId: '', ifname: '', netns: '' })).toBeUndefined();
    setBlocks('10.0.0.0/29');
    for (let i = 0; i < 5; i++) await book.allocate({ owner: `${i}`, families: ['ipv4'] });
    expect(await call('ADD')).toMatchObject({
      code: 101,
      msg: expect.stringContaining('no free IPv4 address in 10.0.0.0/29'),
      details: 'give the node another block, or drain it',
    });
    expect(await call('STATUS')).toBeUndefined();
  });

  test('no block, and a missing family', async () => {
    setBlocks('10.0.0.0/24');
    expect(await code(call('STATUS', { config: { families: ['ipv6'] } }))).toBe(50);
    notReady = 'WaitingForBlocks: the pool is full';
    expect(await call('STATUS')).toMatchObject({ code: 50, msg: notReady });
    notReady = undefined;
    setBlocks();
    expect(await code(call('STATUS'))).toBe(50);
    expect(await code(call('STATUS', { config: { cniVersion: '1.0.0' } }))).toBe(1);
  });

  test('pods that are cut off are told only where new ones cannot come either', async () => {
    limitation = '10.9.9.9 of shop/web: of no block that n1 holds';
    expect(await call('STATUS')).toBeUndefined();
    notReady = 'WaitingForBlocks: no NodeBlock yet';
    expect(await call('STATUS')).toMatchObject({ code: 51, msg: notReady, details: limitation });
  });

  test('an agent that could serve a moment ago is well', async () => {
    notReady = 'WaitingForCluster: it has not answered yet';
    wasReadyLately = true;
    expect(await call('STATUS')).toBeUndefined();
    wasReadyLately = false;
    expect(await code(call('STATUS'))).toBe(50);
  });
});

describe('the log of STATUS', () => {
  const refused = 'the runtime is told that no pod can get an address here';
  let logged: string[];

  beforeEach(() => {
    logged = [];
    const note = (fields: object, words: string) => {
      const { error = '', count = 0 } = fields as { error?: string; count?: number };
      logged.push(`${words}: ${error} ${count}`);
    };
    const log = { ...silentLog, info: note, warn: note };
    server = new CniServer({
      book,
      driver,
      log,
      notReady: () => notReady,
      monotonicMs: () => nowMs,
    });
  });

  test('an error that a runtime asks for again and again is logged when it changes', async () => {
    notReady = 'WaitingForBlocks: no pool selects this node';
    for (let i = 0; i < 300; i++) await call('STATUS');
    expect(logged).toEqual([`${refused}: ${notReady} 0`]);
    nowMs += 10 * 60_000;
    await call('STATUS');
    expect(logged.at(-1)).toBe(`${refused}: ${notReady} 299`);
    notReady = 'WaitingForBlocks: the pool is full';
    await call('STATUS');
    expect(logged.at(-1)).toBe(`${refused}: ${notReady} 0`);
    notReady = undefined;
    for (let i = 0; i < 3; i++) await call('STATUS');
    expect(logged).toHaveLength(4);
    expect(logged.at(-1)).toBe('the runtime is told that pods can get addresses again:  0');
  });

  test('other calls that are refused are logged each', async () => {
    for (let i = 0; i < 3; i++) await call('ADD');
    expect(logged).toHaveLength(2);
    expect(logged[0]).toContain('a CNI call was refused');
  });
});

describe('GC and the sweep', () => {
  const valid = (...ids: string[]) => ({
    'cni.dev/valid-attachments': ids.map((containerID) => ({ containerID, ifname: 'eth0' })),
  });

  test('GC frees what the runtime does not know, in its own network', async () => {
    for (const name of ['a', 'b', 'c']) await call('ADD', pod(name));
    await call('ADD', { ...pod('a'), ifname: 'eth1', config: { name: 'other' } });
    await book.allocate({ owner: 'not of CNI', families: ['ipv4'] });
    expect(await call('GC', { config: valid('a', 'c') })).toBeUndefined();
    const owners = (await book.list()).map(({ owner }) => owner);
    expect(owners).toEqual([
      'cni:pods/a/eth0',
      'cni:pods/c/eth0',
      'cni:other/a/eth1',
      'not of CNI',
    ]);
    expect(driver.wired.size).toBe(3);
  });

  test('GC with a list that cannot be read frees nothing; without one, everything', async () => {
    await call('ADD');
    for (const list of ['all', [{ containerID: 1 }], [null], { containerID: 'a' }]) {
      expect(await code(call('GC', { config: { 'cni.dev/valid-attachments': list } }))).toBe(7);
    }
    expect(driver.wired.size).toBe(1);
    expect(await call('GC')).toBeUndefined();
    nothingLeft();
  });

  test('the sweep frees pods whose namespace is gone, and ADDs that were cut off', async () => {
    await call('ADD');
    await call('ADD', pod('b'));
    const attachment = { network: 'pods', containerId: 'c', ifname: 'eth0', netns: '/run/netns/c' };
    await book.allocate({ owner: 'x', families: ['ipv4'], expiryMs: 60_000, attachment });
    driver.removeNamespace('/run/netns/a');
    expect(await server.sweep()).toBe(1);
    nowMs += 60_000;
    expect(await server.sweep()).toBe(1);
    expect((await book.list()).map(({ owner }) => owner)).toEqual(['cni:pods/b/eth0']);
    expect(driver.wired.size).toBe(1);
  });
});

describe('a claim that did not come to the disk', () => {
  /** The agent dies; what was on disk at that moment is what the next one knows. */
  const dieAndStart = async () => {
    const clock = { wallMs: () => 0, monotonicMs: () => nowMs };
    files = files.restart(() => 0);
    book = await AddressBook.open({ files, folder: '/state', clock, restMs: 0 });
    setBlocks('10.0.0.0/24', 'fd00::/64');
    server = new CniServer({ book, driver });
  };

  test('is told by the interface: the pod was told that it is ready, and lives on', async () => {
    await call('ADD');
    await dieAndStart();
    expect((await book.list())[0]?.expiresAtMs).toBeDefined();
    await server.sweep();
    nowMs += 120_000;
    await server.sweep();
    expect(driver.wired.size).toBe(1);
    expect((await call('ADD', pod('b'))).ips[0].address).toBe('10.0.0.3/32');
    // And from now on it is known.
    await book.close();
    await dieAndStart();
    expect((await book.list()).map(({ expiresAtMs }) => expiresAtMs)).toEqual([
      undefined,
      undefined,
    ]);
    await call('DEL');
    await call('DEL', pod('b'));
    nothingLeft();
  });

  test('without an interface nobody can have heard of it: it expires', async () => {
    await call('ADD');
    driver.wired.clear();
    await dieAndStart();
    expect(await server.sweep()).toBe(0);
    nowMs += 60_000;
    expect(await server.sweep()).toBe(1);
    nothingLeft();
  });

  test('nobody is cut off by a kernel that does not answer', async () => {
    await call('ADD');
    await dieAndStart();
    nowMs += 60_000;
    driver.failing = 'link';
    await server.sweep().catch(() => undefined);
    expect([driver.wired.size, book.use()[0]?.pods]).toEqual([1, 1]);
    driver.failing = undefined;
    await server.sweep();
    expect([driver.wired.size, book.use()[0]?.pods]).toEqual([1, 1]);
  });

  test('nor by a disk that is full from then on', async () => {
    await call('ADD');
    files.failing = () => true;
    expect(await code(call('ADD', pod('b')))).toBe(105);
    nowMs += 60_000;
    // It cannot read the book to its end now.
    await server.sweep().catch(() => undefined);
    expect(driver.wired.size).toBe(1);
    files.failing = undefined;
    await server.sweep();
    await book.close();
    await dieAndStart();
    expect((await book.list()).map(({ owner, expiresAtMs }) => [owner, expiresAtMs])).toEqual([
      ['cni:pods/a/eth0', undefined],
    ]);
  });
});

test('a sweep that cannot see namespaces cuts nobody off: the interfaces are still there', async () => {
  await call('ADD');
  driver.namespaces.clear();
  expect(await server.sweep()).toBe(0);
  expect(driver.wired.size).toBe(1);
});

test('nor does it free addresses under another plugin: there is no interface of ours to tell by', async () => {
  const config = { type: 'bridge', ipam: { type: 'cadastre' } };
  await call('ADD', { config });
  const blind = new CniServer({ book, driver: new RecordingDriver() });
  expect(await blind.sweep()).toBe(0);
  expect(await blind.sweep()).toBe(0);
  expect(book.use()[0]?.pods).toBe(1);
  // Who saw the namespace, and then sees it gone, knows.
  await server.sweep();
  driver.removeNamespace('/run/netns/a');
  expect(await server.sweep()).toBe(1);
  nothingLeft();
});

describe("what another program does to a pod's end on the host", () => {
  const host = () => [...driver.wired.keys()][0]!;

  test('is put back by the sweep, once, and counted', async () => {
    await call('ADD');
    await server.sweep();
    expect(server.repairedPods).toBe(0);
    driver.broken.add(host());
    await server.sweep();
    await server.sweep();
    expect(driver.calls.filter((line) => line.startsWith('repair'))).toEqual([`repair ${host()}`]);
    expect(server.repairedPods).toBe(1);
  });

  test('an interface that is gone is made anew, with the same addresses', async () => {
    await call('ADD');
    const [before] = driver.wired.values();
    driver.wired.clear();
    await server.sweep();
    const [after] = driver.wired.values();
    expect(after).toMatchObject({ addresses: before!.addresses, hostIfName: before!.hostIfName });
    expect(server.repairedPods).toBe(1);
    expect(book.use()[0]?.pods).toBe(1);
  });

  test('what cannot be put back harms nobody, and a plugin of another kind is left alone', async () => {
    await call('ADD');
    await call('ADD', { ...pod('b'), config: { type: 'ptp', ipam: { type: 'cadastre' } } });
    driver.broken.add(host());
    driver.failing = 'repair';
    await server.sweep();
    expect(server.repairedPods).toBe(0);
    driver.failing = undefined;
    await server.sweep();
    expect(server.repairedPods).toBe(1);
    expect(driver.wired.size).toBe(1);
  });
});

test('the pod is remembered by the name that Kubernetes gives it', async () => {
  const args = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0;K8S_POD_UID=x=y';
  await call('ADD', { args });
  await call('ADD', { ...pod('b'), args: 'K8S_POD_NAME=lonely;IP=10.0.0.9' });
  const pods = (await book.list()).map(({ attachment }) => attachment?.pod);
  expect(pods).toEqual(['shop/web-0', undefined]);
});

describe('an interface that the book knows nothing of', () => {
  const lose = (name: string) => book.release(`cni:pods/${name}/eth0`);

  test('keeps its addresses from others until the runtime deletes it', async () => {
    await call('ADD', { args: 'IP=10.0.0.2' });
    await lose('a');
    await server.sweep();
    expect((await call('ADD', { ...pod('b'), args: 'IP=10.0.0.2' })).code).toBe(103);
    expect(driver.wired.size).toBe(1);
    await call('DEL');
    await server.sweep();
    expect((await call('ADD', { ...pod('b'), args: 'IP=10.0.0.2' })).code).toBeUndefined();
    await server.sweep();
    expect(await code(call('CHECK', { ...pod('b'), config: { prevResult: {} } }))).toBe(106);
    expect(book.use().map(({ pods }) => pods)).toEqual([1, 1]);
  });

  test('is removed when its namespace was seen and is gone', async () => {
    await call('ADD');
    await lose('a');
    await server.sweep();
    driver.namespaces.delete('/run/netns/a');
    expect(await server.sweep()).toBe(1);
    await server.sweep();
    nothingLeft();
  });

  test('is not removed by an agent that never saw its namespace', async () => {
    await call('ADD');
    await lose('a');
    driver.namespaces.clear();
    expect(await server.sweep()).toBe(0);
    expect(await server.sweep()).toBe(0);
    expect(driver.wired.size).toBe(1);
  });
});

describe('a remembered DEL', () => {
  test('is done at start, and before an ADD of the same container', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'del-spool-'));
    try {
      const spool = new DelSpool(folder);
      const config = '{"cniVersion":"1.1.0","name":"pods","type":"cadastre"}';
      const leave = (body = config) =>
        writeFileSync(
          join(folder, spoolName('a', 'eth0')),
          `POST /cni HTTP/1.1\r\nHost: x\r\nCNI-Command: ADD\r\nCNI-ContainerID: a\r\nCNI-Ifname: eth0\r\nCNI-Plugin: cadastre\r\n\r\n${body}`,
        );
      await call('ADD');
      leave();
      driver.failing = 'unwire';
      expect(await spool.replay(server)).toBe(0);
      driver.failing = undefined;
      expect(await spool.replay(server)).toBe(1);
      nothingLeft();

      await call('ADD');
      leave();
      const beforeAdd = (id: string, ifname: string) => spool.replayFor(server, id, ifname);
      server = new CniServer({ book, driver, beforeAdd });
      expect((await call('ADD')).ips[0].address).toBe('10.0.0.4/32');

      leave('broken');
      expect(await spool.replay(server)).toBe(1);
      expect(readdirSync(folder)).toEqual([]);
      expect(await new DelSpool(join(folder, 'none')).replay(server)).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test('VERSION, and a command that is none', async () => {
  expect(await call('VERSION')).toEqual({
    cniVersion: '1.1.0',
    supportedVersions: [...supportedVersions],
  });
  expect(await code(call(''))).toBe(4);
  expect(await code(call('UPDATE'))).toBe(4);
});

test('calls are counted by verb and outcome, and what a caller makes up is no series', async () => {
  const metrics = new Metrics();
  server = new CniServer({ book, driver, metrics });
  await call('ADD', { containerId: 'a', netns: '/run/netns/a' });
  await call('ADD', { containerId: 'nowhere', netns: '/run/netns/nowhere' });
  await call('DEL', { containerId: 'a', netns: '/run/netns/a' });
  await call('MAKE-UP' as 'ADD', {});
  const text = metrics.text();
  expect(text).toContain('cadastre_cni_requests_total{outcome="ok",verb="ADD"} 1\n');
  expect(text).toContain('cadastre_cni_requests_total{outcome="ContainerUnknown",verb="ADD"} 1\n');
  expect(text).toContain('cadastre_cni_requests_total{outcome="NotWritten",verb="ADD"} 0\n');
  expect(text).toContain('cadastre_cni_requests_total{outcome="ok",verb="DEL"} 1\n');
  expect(text).toContain(
    'cadastre_cni_requests_total{outcome="InvalidEnvironment",verb="unknown"} 1\n',
  );
  expect(text).toContain('cadastre_cni_request_duration_seconds_count{verb="ADD"} 2\n');
  expect(text).not.toContain('MAKE-UP');
});
