/**
 * One thing is damaged in the folder of a book with a random history. Afterwards everybody has the
 * address that he was told, or nobody is given an address that somebody may have.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { damages } from '../../test/parts/file-damage.ts';
import { MemoryFiles } from '../../test/parts/memory-files.ts';
import { runs } from '../../test/parts/random.ts';
import { seededRandom } from '../../test/parts/seeded-random.ts';
import { parsePrefix } from '../net/prefix.ts';
import { AddressBook } from './address-book.ts';

const clock = { wallMs: () => 0, monotonicMs: () => 0 };
const boot = (bootId: string) => ({ bootId, sinceBootMs: () => 0 });
const owners = ['a', 'b', 'c', 'd', 'e', 'f'];

async function open(files: MemoryFiles, bootId = 'boot-1'): Promise<AddressBook> {
  const book = await AddressBook.open({
    files,
    folder: '/state',
    clock,
    boot: boot(bootId),
    restMs: 0,
    compactAboveBytes: 3_000,
  });
  const prefixes = ['10.0.0.0/28', 'fd00::/124'].map((text) => parsePrefix(text)!);
  book.setBlocks(prefixes.map((prefix) => ({ prefix, isDraining: false })));
  return book;
}

/** Who was told that he has which addresses. */
async function history(files: MemoryFiles, chance: () => number): Promise<Map<string, string>> {
  const told = new Map<string, string>();
  const book = await open(files);
  for (let round = 0; round < 4 + chance() * 20; round++) {
    const owner = owners[Math.floor(chance() * owners.length)]!;
    if (chance() < 0.6) {
      const expiry = chance() < 0.5 ? { expiryMs: 60_000 } : {};
      const answer = await book.allocate({ owner, families: ['ipv4', 'ipv6'], ...expiry });
      if (answer.kind !== 'allocated') continue;
      await book.claim(owner);
      told.set(owner, answer.allocation.addresses.join(' '));
    } else {
      await book.release(owner);
      told.delete(owner);
    }
  }
  await book.close();
  return told;
}

/** Asks for all that can be had, and looks whether somebody else has it. */
async function judge(
  book: AddressBook,
  told: ReadonlyMap<string, string>,
): Promise<'kept' | 'held'> {
  const used = new Map(
    [...told].flatMap(([owner, own]) => own.split(' ').map((one) => [one, owner])),
  );
  let isKept = true;
  for (const [owner, own] of told) {
    const found = book.find(owner)?.addresses.join(' ');
    isKept &&= found === own;
    const again = await book.allocate({ owner, families: ['ipv4', 'ipv6'] });
    if (again.kind === 'allocated') expect(again.allocation.addresses.join(' '), owner).toBe(own);
  }
  for (let n = 0; n < 20; n++) {
    const answer = await book.allocate({ owner: `new${n}`, families: ['ipv4', 'ipv6'] });
    if (answer.kind !== 'allocated') {
      if (!isKept) expect(answer.detail).toMatch(/unknown, because \/state\/addresses\.journal/);
      break;
    }
    for (const one of answer.allocation.addresses) expect(used.get(one.toString())).toBeUndefined();
  }
  return isKept ? 'kept' : 'held';
}

test('whatever is damaged, nobody is given an address that somebody has', async () => {
  const tally = { kept: 0, held: 0 };
  const property = fc.asyncProperty(fc.noShrink(fc.nat()), async (seed) => {
    const chance = seededRandom(seed);
    const sound = new MemoryFiles();
    const told = await history(sound, chance);
    for (const path of sound.paths()) {
      for (const [what, damage] of damages) {
        for (let again = 0; again < 2; again++) {
          const files = sound.copy();
          damage(files, path, (await files.read(path))!, chance);
          const says = `seed ${seed}: ${what} ${path}`;
          const book = await open(files);
          tally[
            await judge(book, told).catch((error) => {
              throw new Error(says, { cause: error });
            })
          ]++;
          await book.close();
          // And so it stays over another restart.
          const next = await open(files);
          await judge(next, told).catch((error) => {
            throw new Error(`${says}, restarted`, { cause: error });
          });
          await next.close();
        }
      }
    }
  });
  await fc.assert(property, { numRuns: runs(6) });
  // Most is read from the second copy.
  expect(tally.kept).toBeGreaterThan(tally.held);
  expect(tally.held).toBeGreaterThan(0);
}, 120_000);
