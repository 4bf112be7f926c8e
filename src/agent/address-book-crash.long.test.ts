/**
 * The plug is pulled after every single file operation of random stories. After
 * each restart: every acknowledged change is there, nobody shares an address,
 * and the addresses that are taken are exactly those that somebody holds.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Chance, CrashingFiles } from '../../test/parts/crashing-files.ts';
import { runs } from '../../test/parts/random.ts';
import { seededRandom } from '../../test/parts/seeded-random.ts';
import { parsePrefix } from '../net/prefix.ts';
import { AddressBook } from './address-book.ts';

const clock = { wallMs: () => 0, monotonicMs: () => 0 };
const owners = ['a', 'b', 'c', 'd', 'e', 'f'];

/** What an owner may hold: an address, 'none', or after an unanswered request also something else. */
interface Belief {
  certain: string | 'none' | 'unknown';
}

// What waits for company on its way to disk waits for the next record, not for a time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function open(files: CrashingFiles): Promise<AddressBook> {
  const book = await AddressBook.open({
    files,
    folder: '/state',
    clock,
    restMs: 0,
    compactAboveBytes: 700,
  });
  const prefixes = ['10.0.0.0/29', 'fd00::/125'].map((text) => parsePrefix(text)!);
  book.setBlocks(prefixes.map((prefix) => ({ prefix, isDraining: false })));
  return book;
}

/** Random requests, several at a time, until the power goes (or they are through). */
async function live(book: AddressBook, beliefs: Map<string, Belief>, chance: Chance) {
  for (let round = 0; round < 6; round++) {
    const busy = new Set<string>();
    const requests: Promise<void>[] = [];
    for (let i = 0; i < 4; i++) {
      const owner = owners[Math.floor(chance() * owners.length)]!;
      // One request of an owner at a time: else what it believes depends on the order of answers.
      if (busy.has(owner)) continue;
      busy.add(owner);
      const belief = beliefs.get(owner)!;
      const before = belief.certain;
      belief.certain = 'unknown';
      requests.push(
        (async () => {
          try {
            if (chance() < 0.6) {
              const expiry = chance() < 0.5 ? { expiryMs: 60_000 } : {};
              const answer = await book.allocate({ owner, families: ['ipv4', 'ipv6'], ...expiry });
              // Lost or not, it changes nothing of who holds what.
              if (chance() < 0.5) book.claimSoon(owner);
              // A refusal promises nothing of what an earlier, unanswered request left on disk.
              belief.certain =
                answer.kind === 'allocated' ? answer.allocation.addresses.join(' ') : before;
              if (before !== 'unknown' && before !== 'none') expect(belief.certain).toBe(before);
            } else {
              await book.release(owner);
              belief.certain = 'none';
            }
          } catch (error) {
            expect(error).toMatchObject({ code: 'STATE_NOT_WRITTEN' });
            // Undone in memory; if the disk refused the undoing too, a crash may still bring it back.
            const held = book.find(owner)?.addresses.join(' ') ?? 'none';
            if (before !== 'unknown') expect(held).toBe(before);
          }
        })(),
      );
    }
    await Promise.all(requests);
  }
}

async function judge(book: AddressBook, beliefs: Map<string, Belief>): Promise<void> {
  const held = new Map<string, string>();
  const taken = new Set<string>();
  let addresses = 0;
  for (const { owner, addresses: own } of await book.list()) {
    held.set(owner, own.join(' '));
    for (const address of own) taken.add(address.toString());
    addresses += own.length;
  }
  expect(taken.size, 'an address has two owners').toBe(addresses);
  for (const [owner, belief] of beliefs) {
    const found = held.get(owner) ?? 'none';
    if (belief.certain !== 'unknown') expect(found, owner).toBe(belief.certain);
    belief.certain = found;
  }
  const pods = book.use().reduce((sum, block) => sum + block.pods, 0);
  expect(pods, 'an address is taken that nobody holds').toBe(addresses);
}

const isDead = (files: CrashingFiles) =>
  new Promise<'dead'>((resolve) => {
    const look = () => (files.hasCrashed ? resolve('dead') : setImmediate(look));
    look();
  });

async function story(seed: number, crashAfter: number, isDiskFull: boolean): Promise<boolean> {
  const chance = seededRandom(seed * 7919 + crashAfter);
  const beliefs = new Map(owners.map((owner) => [owner, { certain: 'none' } as Belief]));
  let files = new CrashingFiles();
  let hasCrashed = false;
  for (let life = 0; life < 3; life++) {
    files.crashAfter(life === 0 ? crashAfter : Math.floor(chance() * 40));
    if (isDiskFull) files.failing = () => chance() < 0.1;
    const outcome = await Promise.race([
      isDead(files),
      open(files).then(
        async (book) => {
          await judge(book, beliefs).catch((error) => {
            if ((error as { code?: string }).code !== 'STATE_NOT_WRITTEN') throw error;
          });
          await live(book, beliefs, chance);
          return 'lived' as const;
        },
        (error: { code?: string }) => {
          // A full disk may keep it from starting; it must not make it lie.
          if (error.code !== 'ENOSPC') throw error;
          return 'lived' as const;
        },
      ),
    ]);
    hasCrashed ||= outcome === 'dead';
    files = files.restart(chance);
  }
  const last = await open(files);
  await judge(last, beliefs);
  // And it still works: everything can be given and taken back.
  for (const owner of owners) await last.release(owner);
  await judge(last, new Map());
  return hasCrashed;
}

async function crashAnywhere(isDiskFull: boolean): Promise<void> {
  let crashes = 0;
  const property = fc.asyncProperty(fc.noShrink(fc.nat()), async (seed) => {
    for (let after = 1; after <= 60; after++) if (await story(seed, after, isDiskFull)) crashes++;
  });
  await fc.assert(property, { numRuns: runs(4) });
  // Lives without a crash would prove nothing.
  expect(crashes).toBeGreaterThan(runs(80));
}

test('a crash after any file operation', async () => {
  await crashAnywhere(false);
});

test('a crash after any file operation on a disk that is full now and then', async () => {
  await crashAnywhere(true);
});
