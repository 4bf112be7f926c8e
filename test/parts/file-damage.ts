import { endOfContent } from '../../src/base/journal/decoded-journal.ts';
import type { MemoryFiles } from './memory-files.ts';

type Chance = () => number;
type ChangeContent = (content: Buffer, chance: Chance) => Buffer | undefined;

/** What can happen to a file; undefined: it is gone. */
export const contentDamages: ReadonlyArray<readonly [string, ChangeContent]> = [
  [
    'a bit is flipped in',
    (content, chance) => {
      const at = within(content, chance);
      content[at] = (content[at] ?? 0) ^ (1 << Math.floor(chance() * 8));
      return content;
    },
  ],
  ['cut is', (content, chance) => content.subarray(0, within(content, chance))],
  ['empty is', () => Buffer.alloc(0)],
  ['missing is', () => undefined],
  [
    'a block is twice in',
    (content, chance) => {
      const [from, to] = blockOf(content, chance);
      return Buffer.concat([
        content.subarray(0, to),
        content.subarray(from, to),
        content.subarray(to),
      ]);
    },
  ],
  [
    'a block is overwritten by another in',
    (content, chance) => {
      const [from, to] = blockOf(content, chance);
      const at = Math.min(within(content, chance), endOfContent(content, 0) - (to - from));
      content.copy(content, Math.max(0, at), from, to);
      return content;
    },
  ],
  [
    'two blocks are swapped in',
    (content, chance) => {
      const [from, to] = blockOf(content, chance);
      const other = Math.min(within(content, chance), content.length - (to - from));
      if (Math.abs(other - from) < to - from) return content;
      const one = Buffer.from(content.subarray(from, to));
      content.copy(content, from, other, other + one.length);
      one.copy(content, other);
      return content;
    },
  ],
  [
    'a sector is rubbish in',
    (content, chance) => {
      const from = Math.floor(within(content, chance) / 512) * 512;
      for (let at = from; at < Math.min(from + 512, content.length); at++) {
        content[at] = Math.floor(chance() * 256);
      }
      return content;
    },
  ],
];

export const damages = contentDamages.map(
  ([what, change]) =>
    [
      what,
      (files: MemoryFiles, path: string, content: Uint8Array, chance: Chance) => {
        const changed = change(Buffer.from(content), chance);
        if (changed === undefined) void files.remove(path);
        else files.put(path, changed);
      },
    ] as const,
);

/** A byte of the content, seldom one of the zeros behind it. */
function within(content: Buffer, chance: Chance): number {
  const end = Math.max(1, endOfContent(content, 0));
  return Math.floor(chance() * (chance() < 0.9 ? end : content.length));
}

function blockOf(content: Buffer, chance: Chance): [from: number, to: number] {
  const from = within(content, chance);
  const end = endOfContent(content, 0);
  return [from, Math.min(from + 1 + Math.floor(chance() * 600), Math.max(end, from + 1))];
}
