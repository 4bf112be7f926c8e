import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { realFiles } from '../base/journal/durable-files.ts';
import { parsePrefix } from '../net/prefix.ts';
import { AddressBook } from './address-book.ts';

/** A journal as version 0.1.0 wrote it, with the room it had reserved behind its records. */
const journal = gunzipSync(
  readFileSync(join(import.meta.dirname, 'testdata/addresses.journal.gz')),
);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadastre-book-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Twenty seconds after its last write, in the same boot. */
async function open(bytes: Uint8Array): Promise<AddressBook> {
  await writeFile(join(folder, 'addresses.journal'), bytes);
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const boot = { bootId: 'boot-1', sinceBootMs: () => 1_032_000 };
  const book = await AddressBook.open({ files: realFiles, folder, clock, boot, restMs: 30_000 });
  const blocks = ['10.0.0.0/24', 'fd00::/64'].map((text) => parsePrefix(text)!);
  book.setBlocks(blocks.map((prefix) => ({ prefix, isDraining: false })));
  return book;
}

const held = (book: AddressBook) =>
  [...book.remembered()].map(({ generation, owner, addresses, expiresAtMs }) =>
    [generation, owner, ...addresses, expiresAtMs ?? 'for good'].join(' '),
  );

test('the journal of an older version opens, with every owner, expiry and rest', async () => {
  const book = await open(journal);
  expect(held(book)).toEqual([
    '1 shop/web 10.0.0.2 fd00::2 for good',
    '2 shop/db 10.0.0.3 for good',
    '4 unclaimed 10.0.0.5 40000',
  ]);
  expect(book.find('shop/web')?.attachment).toMatchObject({ containerId: 'c1', pod: 'shop/web' });
  expect(book.use().map(({ pods, resting }) => `${pods} ${resting}`)).toEqual(['3 1', '1 0']);
  await book.allocate({ owner: 'new', families: ['ipv4'] });
  await book.close();
});

test('what is appended to it is read with it, and a torn last record is dropped', async () => {
  const book = await open(journal);
  await book.allocate({ owner: 'new', families: ['ipv4'] });
  await book.close();
  const longer = readFileSync(join(folder, 'addresses.journal'));
  expect(longer.toString('latin1', 0, 200)).toMatch(/^[0-9a-f]{8} 00000000 00000001 /);
  // Every record is there twice; the first copy of the last one is cut short.
  const end = longer.indexOf('"owner":"new"');
  const whole = await open(longer);
  expect(held(whole).at(-1)).toBe('5 new 10.0.0.6 for good');
  await whole.close();
  const torn = await open(Buffer.concat([longer.subarray(0, end), Buffer.alloc(1_000)]));
  expect(held(torn)).toHaveLength(3);
  await torn.close();
});
