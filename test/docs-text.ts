/** The pages of the documentation, and what tests look for in them: text, code, headings, links. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fence } from './shell-lines.ts';

export const root = join(import.meta.dirname, '..');

/** Paths from the checkout. */
export const pages = [
  'README.md',
  'README.zh-CN.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
];

export const readPage = (page: string) => readFileSync(join(root, page), 'utf8');

/** Code is no text: what looks like a link or a heading there is none. */
export const textOf = (page: string) => readPage(page).replace(/^```[\s\S]*?^```/gm, '');

export const fencesOf = (page: string): Fence[] =>
  [...readPage(page).matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(
    ([, language = '', text = '']) => ({ language, text }),
  );

export interface Heading {
  level: number;
  text: string;
}

export const headingsOf = (page: string): Heading[] =>
  [...textOf(page).matchAll(/^(#+) (.+)$/gm)].map(([, marks = '', text = '']) => ({
    level: marks.length,
    text,
  }));

/** As GitHub makes them. */
export const anchorsOf = (page: string) =>
  headingsOf(page).map(({ text }) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Where links and pictures lead, in the order of the page. */
export const linksOf = (page: string) =>
  [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
