/** The pages of the documentation, and what tests look for in them: text, code, headings, links. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

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

export interface Fence {
  /** What stands after the opening marks: sh, console, yaml … */
  language: string;
  text: string;
}

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

/**
 * The commands of a shell block: `$ ` is a prompt, and what follows without one is output; a
 * backslash at the end of a line goes on; comments are taken off.
 */
export function commandsOf({ language, text }: Fence): string[] {
  const joined = text.replace(/\\\n\s*/g, '');
  const lines = joined.split('\n').filter((line) => line.trim() !== '');
  const isPrompted = lines.some((line) => line.startsWith('$ '));
  if (!isPrompted && language !== 'sh') return [];
  return lines
    .filter((line) => !isPrompted || line.startsWith('$ '))
    .map((line) =>
      line
        .replace(/^\$ /, '')
        .replace(/(^|\s)#.*$/, '')
        .trim(),
    )
    .filter((line) => line !== '');
}

/** The words of a command line, as a shell splits them; quotes are taken off. */
export const wordsOf = (line: string) =>
  [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) => word.replace(/['"]/g, ''));
