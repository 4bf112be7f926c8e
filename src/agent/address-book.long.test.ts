import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { CrashingFiles } from '../../test/parts/crashing-files.ts';
import { runs } from '../../test/parts/random.ts';
import { seededRandom } from '../../test/parts/seeded-random.ts';
import { parseAddress } from '../net/address.ts';
import type { Family } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';
import { AddressBook } from './address-book.ts';
import type { AllocateAnswer } from './address-request.ts';

let nowMs = 0;
const clock = { wallMs: () => 0, monotonicMs: () => nowMs };
beforeEach(() => {
  nowMs = 1000;
});

async function openBook(files: CrashingFiles, blocks = ['10.0.0.0/28', 'fd00::/120'], restMs = 0) {
  const book = await AddressBook.open({ files, folder: '/state', clock, restMs });
  book.setBlocks(blocks.map((text) => ({ prefix: parsePrefix(text)!, isDraining: false })));
  return book;
}

const v4: Family[] = ['ipv4'];
const text = (answer: AllocateAnswer) =>
  answer.kind === 'allocated' ? answer.allocation.addresses.join(' ') : answer.reason;

describe('owners', () => {
  test('the same owner gets the same address; another one another', async () => {
    const book = await openBook(new CrashingFiles());
    const first = await book.allocate({ owner: 'a', families: ['ipv4', 'ipv6'] });
    const second = await book.allocate({ owner: 'a', families: ['ipv6', 'ipv4'] });
    expect([text(first), text(second)]).toEqual(['10.0.0.2 fd00::2', '10.0.0.2 fd00::2']);
    expect(second).toMatchObject({ isNew: false });
    expect(text(await book.allocate({ owner: 'b', families: v4 }))).toBe('10.0.0.3');
    expect(text(await book.allocate({ owner: 'a', families: v4 }))).toBe('OwnerHoldsOther');
  });

  test('a release is fenced by owner and by generation', async () => {
    const book = await openBook(new CrashingFiles());
    await book.allocate({ owner: 'a', families: v4 });
    const address = parseAddress('10.0.0.2')!;
    expect(await book.releaseAddress(address, { owner: 'b' })).toMatchObject({
      reason: 'NotOwner',
    });
    expect(await book.releaseAddress(address, { owner: 'a', generation: 99 })).toMatchObject({
      reason: 'StaleGeneration',
    });
    expect(await book.releaseAddress(address, { owner: 'a', generation: 1 })).toMatchObject({
      kind: 'released',
    });
    expect(await book.release('a')).toEqual({ kind: 'absent' });
  });

  test('what CNI gave only CNI takes back', async () => {
    const book = await openBook(new CrashingFiles());
    const attachment = { network: 'n', containerId: 'c', ifname: 'eth0', netns: '/x' };
    await book.allocate({ owner: 'a', families: v4, attachment });
    const address = parseAddress('10.0.0.2')!;
    expect(await book.releaseAddress(address, { owner: 'a' })).toMatchObject({
      reason: 'PodAttached',
    });
    expect(await book.release('a')).toMatchObject({ kind: 'released' });
  });

  test('many at once get different addresses, and a full block refuses the rest', async () => {
    const book = await openBook(new CrashingFiles());
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => book.allocate({ owner: `o${i}`, families: v4 })),
    );
    const given = answers.map(text).filter((said) => said !== 'NoFreeAddress');
    expect(new Set(given).size).toBe(13);
    expect(answers).toHaveLength(20);
  });
});

describe('time', () => {
  test('what nobody claims is free again; what is claimed stays', async () => {
    const book = await openBook(new CrashingFiles());
    await book.allocate({ owner: 'a', families: v4, expiryMs: 5000 });
    await book.allocate({ owner: 'b', families: v4, expiryMs: 5000 });
    expect(await book.claim('b')).toBe(true);
    nowMs += 5000;
    expect(book.tick()).toEqual([]);
    expect((await book.list()).map(({ owner }) => owner)).toEqual(['b']);
    expect(await book.claim('a')).toBe(false);
  });

  test('an attachment that expired is left to the sweep, because its interface must go first', async () => {
    const book = await openBook(new CrashingFiles());
    const attachment = { network: 'n', containerId: 'c', ifname: 'eth0', netns: '/x' };
    await book.allocate({ owner: 'a', families: v4, expiryMs: 5000, attachment });
    nowMs += 5000;
    expect(book.tick().map(({ owner }) => owner)).toEqual(['a']);
    expect(await book.list()).toHaveLength(1);
  });

  test('across a restart the time that was left counts, whatever any clock says', async () => {
    const files = new CrashingFiles();
    const book = await openBook(files, ['10.0.0.0/30'], 60_000);
    await book.allocate({ owner: 'a', families: v4, expiryMs: 30_000 });
    nowMs += 20_000;
    book.tick();
    await book.close();
    nowMs = -1e9;
    const later = await openBook(files, ['10.0.0.0/30'], 60_000);
    expect(await later.list()).toMatchObject([{ owner: 'a', expiresAtMs: -1e9 + 10_000 }]);
    nowMs += 10_000;
    later.tick();
    await later.close();
    nowMs = 1e9;
    const last = await openBook(files, ['10.0.0.0/30'], 60_000);
    expect(await last.allocate({ owner: 'b', families: v4 })).toMatchObject({
      reason: 'NoFreeAddress',
      retryAfterMs: 60_000,
    });
    nowMs += 60_000;
    expect(text(await last.allocate({ owner: 'b', families: v4 }))).toBe('10.0.0.2');
  });
});

describe('a full disk', () => {
  test.each(['write', 'sync'])(
    'at %s: refused, nothing half done, works again after',
    async (at) => {
      const files = new CrashingFiles();
      const book = await openBook(files);
      await book.allocate({ owner: 'a', families: v4 });
      files.failing = (operation) => operation === at;
      const answers = await Promise.allSettled([
        book.allocate({ owner: 'b', families: v4 }),
        book.allocate({ owner: 'b', families: v4 }),
        book.release('a'),
        book.allocate({ owner: 'c', families: v4, expiryMs: 1 }),
        book.claim('c'),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
      expect(answers[0]).toMatchObject({ reason: { code: 'STATE_NOT_WRITTEN' } });
      expect(book.use().map(({ pods }) => pods)).toEqual([1, 0]);
      files.failing = undefined;
      expect((await book.list()).map(({ owner }) => owner)).toEqual(['a']);
      await book.allocate({ owner: 'd', families: v4 });
      const later = await openBook(files.restart(seededRandom(1)));
      expect((await later.list()).map(({ owner }) => owner)).toEqual(['a', 'd']);
    },
  );

  test('that lets nothing be undone: what is answered after that is what a crash leaves', async () => {
    const files = new CrashingFiles();
    const book = await openBook(files);
    await book.allocate({ owner: 'a', families: v4 });
    // The record of the release lands on disk, and can be neither synced nor cut off again.
    files.failing = (operation) => operation === 'sync' || operation === 'truncate';
    await expect(book.release('a')).rejects.toMatchObject({ code: 'STATE_NOT_WRITTEN' });
    await expect(book.allocate({ owner: 'a', families: v4 })).rejects.toMatchObject({
      code: 'STATE_NOT_WRITTEN',
    });
    files.failing = undefined;
    expect(await book.allocate({ owner: 'a', families: v4 })).toMatchObject({ isNew: false });
    // Everything that was written survives, synced or not.
    const later = await openBook(files.restart(() => 0.99));
    expect((await later.list()).map(({ owner }) => owner)).toEqual(['a']);
  });

  test('during compaction: the old file goes on', async () => {
    const files = new CrashingFiles();
    const options = { files, folder: '/state', clock, restMs: 0, compactAboveBytes: 0 };
    const book = await AddressBook.open(options);
    book.setBlocks([{ prefix: parsePrefix('10.0.0.0/24')!, isDraining: false }]);
    files.failing = (operation) => operation === 'rename';
    await book.allocate({ owner: 'a', families: v4 });
    files.failing = (operation) => operation === 'syncDirectory';
    for (const owner of ['b', 'c', 'd', 'e', 'f']) {
      await book.allocate({ owner, families: v4 }).catch(() => undefined);
    }
    const held = (await book.list().catch(() => [])).map(({ owner }) => owner);
    files.failing = undefined;
    await book.allocate({ owner: 'g', families: v4 });
    const later = await AddressBook.open({ ...options, files: files.restart(seededRandom(1)) });
    const owners = (await later.list()).map(({ owner }) => owner);
    expect(owners).toEqual(expect.arrayContaining(['a', 'g', ...held]));
    expect(owners).toEqual((await book.list()).map(({ owner }) => owner));
  });
});

describe('a claim that nobody waits for', () => {
  const claims = async (files: CrashingFiles) =>
    (await (await openBook(files.restart(() => 0))).list()).map(({ owner, expiresAtMs }) => [
      owner,
      expiresAtMs === undefined,
    ]);

  test('holds at once, and is on disk with the next record', async () => {
    const files = new CrashingFiles();
    const book = await openBook(files);
    await book.allocate({ owner: 'a', families: v4, expiryMs: 60_000 });
    expect(book.claimSoon('a')).toBe(true);
    expect(book.find('a')?.expiresAtMs).toBeUndefined();
    expect(await claims(files)).toEqual([['a', false]]);
    await book.allocate({ owner: 'b', families: v4 });
    expect(await claims(files)).toEqual([
      ['a', true],
      ['b', true],
    ]);
    expect(book.claimSoon('nobody')).toBe(false);
  });

  test('comes to disk by itself, too, and before the book is closed', async () => {
    const files = new CrashingFiles();
    const book = await openBook(files);
    await book.allocate({ owner: 'a', families: v4, expiryMs: 60_000 });
    book.claimSoon('a');
    await expect.poll(() => claims(files)).toEqual([['a', true]]);
    await book.allocate({ owner: 'b', families: v4, expiryMs: 60_000 });
    book.claimSoon('b');
    await book.close();
    expect((await claims(files))[1]).toEqual(['b', true]);
  });

  test('that the disk refuses is none', async () => {
    const files = new CrashingFiles();
    const book = await openBook(files);
    await book.allocate({ owner: 'a', families: v4, expiryMs: 60_000 });
    book.claimSoon('a');
    files.failing = () => true;
    await expect(book.allocate({ owner: 'b', families: v4 })).rejects.toMatchObject({
      code: 'STATE_NOT_WRITTEN',
    });
    files.failing = undefined;
    expect(book.find('a')?.expiresAtMs).toBe(61_000);
    expect(book.find('b')).toBeUndefined();
  });
});

describe('times across restarts', () => {
  const restMs = 30_000;
  let bootId = '';
  let bootedMs = 0;
  /** Of the machine; the process's own clock begins anew with it. */
  let trueMs = 0;
  let startedMs = 0;
  const open = async (files: CrashingFiles, block = '10.0.0.0/29') => {
    startedMs = trueMs;
    const book = await AddressBook.open({
      files,
      folder: '/state',
      clock: { wallMs: () => 0, monotonicMs: () => trueMs - startedMs },
      boot: { bootId, sinceBootMs: () => trueMs - bootedMs },
      restMs,
      compactAboveBytes: 1500,
    });
    book.setBlocks([{ prefix: parsePrefix(block)!, isDraining: false }]);
    return book;
  };
  beforeEach(() => {
    bootId = 'boot-1';
    bootedMs = -5_000_000;
    trueMs = 0;
  });

  test('an agent that dies every five seconds lets addresses rest no longer than others', async () => {
    let files = new CrashingFiles();
    let book = await open(files, '10.0.0.0/30');
    await book.allocate({ owner: 'a', families: v4 });
    await book.release('a');
    for (let death = 0; death < 5; death++) {
      trueMs += 5_000;
      files = files.restart(() => 0);
      book = await open(files, '10.0.0.0/30');
      book.tick();
      expect(text(await book.allocate({ owner: 'b', families: v4 }))).toBe('NoFreeAddress');
    }
    trueMs += 5_000;
    expect(text(await book.allocate({ owner: 'b', families: v4 }))).toBe('10.0.0.2');
  });

  test('a boot can lengthen it, by the time since the last record of age', async () => {
    const files = new CrashingFiles();
    let book = await open(files, '10.0.0.0/30');
    await book.allocate({ owner: 'a', families: v4 });
    await book.release('a');
    for (trueMs = 1_000; trueMs < 25_000; trueMs += 1_000) book.tick();
    await book.list();
    bootId = 'boot-2';
    bootedMs = trueMs;
    book = await open(
      files.restart(() => 0),
      '10.0.0.0/30',
    );
    trueMs += 5_000;
    expect(text(await book.allocate({ owner: 'b', families: v4 }))).toBe('NoFreeAddress');
    trueMs += 5_000;
    expect(text(await book.allocate({ owner: 'b', families: v4 }))).toBe('10.0.0.2');
  });

  test.each([
    ['deaths', { death: 0.2, boot: 0, full: 0 }],
    ['deaths and boots', { death: 0.2, boot: 0.1, full: 0 }],
    ['deaths, boots and a full disk', { death: 0.2, boot: 0.1, full: 0.3 }],
  ])('no address rests less than promised: %s', async (_, { death, boot, full }) => {
    const property = fc.asyncProperty(fc.noShrink(fc.nat()), async (seed) => {
      const chance = seededRandom(seed);
      let files = new CrashingFiles();
      let book = await open(files);
      const freedMs = new Map<string, number>();
      for (let step = 0; step < 60; step++) {
        trueMs += Math.floor(chance() * (chance() < 0.1 ? 60_000 : 6_000));
        files.failing = chance() < full ? () => true : undefined;
        const owner = `o${Math.floor(chance() * 4)}`;
        const dice = chance();
        if (dice < death) {
          if (chance() < boot / death) {
            bootId = `boot-${seed}-${step}`;
            bootedMs = trueMs;
          }
          files = files.restart(chance);
          book = await open(files);
        } else if (dice < 0.5) {
          const before = trueMs;
          const answer = await book.allocate({ owner, families: v4 }).catch(() => undefined);
          if (answer?.kind !== 'allocated' || !answer.isNew) continue;
          const since = before - (freedMs.get(text(answer)) ?? Number.NEGATIVE_INFINITY);
          expect(since, `seed ${seed}, step ${step}`).toBeGreaterThanOrEqual(restMs);
        } else if (dice < 0.8) {
          const address = book.find(owner)?.addresses.join();
          const answer = await book.release(owner).catch(() => undefined);
          if (answer?.kind === 'released') freedMs.set(address!, trueMs);
        } else book.tick();
      }
    });
    await fc.assert(property, { numRuns: runs(60) });
  });
});
