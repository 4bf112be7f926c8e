import { beforeEach, describe, expect, test } from 'vitest';
import { MemoryFiles } from '../../test/parts/memory-files.ts';
import { RecordingDriver } from '../../test/parts/recording-driver.ts';
import { parsePrefix } from '../net/prefix.ts';
import { AddressBook } from './address-book.ts';
import { CniServer } from './cni/cni-server.ts';

const path = '/state/addresses.journal';
const clock = { wallMs: () => 0, monotonicMs: () => 0 };

let files: MemoryFiles;
let driver: RecordingDriver;
let book: AddressBook;
let cni: CniServer;

beforeEach(async () => {
  files = new MemoryFiles();
  driver = new RecordingDriver();
  await start();
});

async function start(bootId = 'boot-1'): Promise<void> {
  const boot = { bootId, sinceBootMs: () => 0 };
  book = await AddressBook.open({ files, folder: '/state', clock, boot, restMs: 0 });
  cni = new CniServer({ book, driver });
  // As the agent does: the first sweep is before the blocks are known.
  await cni.sweep();
  setBlocks('10.0.0.0/24');
}

function setBlocks(...blocks: string[]): void {
  book.setBlocks(blocks.map((text) => ({ prefix: parsePrefix(text)!, isDraining: false })));
}

/** Its address, or what was wrong. */
async function add(containerId: string, config: object = {}): Promise<string> {
  driver.namespaces.add(`/run/netns/${containerId}`);
  const { body } = await call('ADD', containerId, config);
  const { ips, msg } = body as { ips?: Array<{ address: string }>; msg?: string };
  return ips?.[0]?.address ?? String(msg);
}

const call = (command: string, containerId: string, config: object = {}) =>
  cni.handle({
    command,
    containerId,
    netns: `/run/netns/${containerId}`,
    ifname: 'eth0',
    args: '',
    plugin: 'cadastre',
    stdin: JSON.stringify({ cniVersion: '1.1.0', name: 'pods', type: 'cadastre', ...config }),
  });

const held = () =>
  [...book.remembered()].map(({ owner, addresses }) => `${owner} ${addresses.join(' ')}`).sort();

/** Overwrites both copies of every record that has the text. */
async function destroyRecordsWith(text: string): Promise<void> {
  const content = Buffer.from((await files.read(path))!);
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + 1)) {
    content.fill('#', at, at + text.length);
  }
  files.put(path, content);
}

const addressesOnly = { type: 'ptp', ipam: { type: 'cadastre' } };

describe('a flipped bit', () => {
  test('near the start of the journal loses nobody, and the damaged file is kept', async () => {
    for (const name of ['a', 'b', 'c']) await add(name);
    await book.close();
    const before = held();
    const content = Buffer.from((await files.read(path))!);
    content[70] = content[70]! ^ 4;
    files.put(path, content);
    await start();
    expect(held()).toEqual(before);
    expect(book.unknownOwners).toBeUndefined();
    expect(await add('d')).toBe('10.0.0.5/32');
    const copy = '/state/addresses.journal.damaged-1970-01-01T00-00-00.000Z';
    expect(Buffer.from((await files.read(copy))!).equals(content)).toBe(true);
  });
});

describe('a record that is lost in both copies', () => {
  test('of a pod comes back from its interface, and is freed with it', async () => {
    for (const name of ['a', 'b', 'c']) await add(name);
    await book.close();
    const before = held();
    await destroyRecordsWith('"containerId":"b"');
    await start();
    expect(held()).toEqual(before);
    expect(book.unknownOwners).toBeUndefined();
    expect(await add('d')).toBe('10.0.0.5/32');
    await call('DEL', 'b');
    expect(held()).toHaveLength(3);
  });

  test('of an owner without an interface keeps the blocks of that time from giving more', async () => {
    await add('a');
    await add('b', addressesOnly);
    await add('c');
    await book.close();
    await destroyRecordsWith('"containerId":"b"');
    await start();
    expect(held()).toHaveLength(2);
    expect(await add('d')).toMatch(
      /^no free IPv4 address in 10\.0\.0\.0\/24 \(draining\); the owners of 1 addresses of 10\.0\.0\.0\/24 are unknown, because \/state\/addresses\.journal: byte \d+ \(line \d+\) cannot be read, and 1 more places are damaged; these blocks give no address until/,
    );
    // It is not empty, and so not given back.
    expect(book.use()[0]).toMatchObject({ pods: 3, free: 0n });
    // Another block is nobody's.
    setBlocks('10.0.0.0/24', '10.0.1.0/24');
    expect(await add('d')).toBe('10.0.1.2/32');
    await book.close();
    await start();
    setBlocks('10.0.0.0/24', '10.0.1.0/24');
    expect(await add('e')).toBe('10.0.1.3/32');
    expect(book.unknownOwners?.generations).toEqual([2]);
  });

  test.each([
    ['the machine was booted', () => start('boot-2')],
    [
      'the damaged file is removed',
      async () => {
        await files.remove(book.unknownOwners!.file);
        await start();
      },
    ],
  ])('holds nothing any more after %s', async (_, after) => {
    await add('a', addressesOnly);
    await book.close();
    await destroyRecordsWith('"containerId":"a"');
    await start();
    expect(await add('b')).toContain('unknown');
    await book.close();
    await after();
    expect(book.unknownOwners).toBeUndefined();
    expect(await add('c')).toBe('10.0.0.2/32');
  });
});

test.each([
  ['is missing', () => files.remove(path)],
  ['is empty', async () => files.put(path, new Uint8Array())],
])(
  'a journal that %s was not the first one: nobody gets what others may have',
  async (how, lose) => {
    await add('a');
    await add('b', addressesOnly);
    await book.close();
    await lose();
    await start();
    expect(held()).toEqual(['cni:pods/a/eth0 10.0.0.2']);
    expect(await add('c')).toContain(`are unknown, because /state/addresses.journal ${how}`);
  },
);

test('damage that a power cut has left holds nothing: who had an address is gone', async () => {
  await add('a');
  await add('b', addressesOnly);
  await book.close();
  await destroyRecordsWith('"containerId":"b"');
  driver = new RecordingDriver();
  await start('boot-2');
  expect(book.unknownOwners).toBeUndefined();
  expect(await add('c')).toMatch(/^10\.0\.0\./);
});
