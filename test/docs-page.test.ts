/** The index of docs, the links between pages, and the files that pages name. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
];
const read = (page: string) => readFileSync(join(root, page), 'utf8');
/** Code is no text: what looks like a link or a heading there is none. */
const textOf = (page: string) => read(page).replace(/^```[\s\S]*?^```/gm, '');

/** As GitHub makes them. */
const anchorsOf = (page: string) =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('the index names every page of docs, each once', () => {
  const listed = [...read('docs/README.md').matchAll(/^- \[.+?\]\(([^)]+)\) — \S/gm)];
  const own = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md');
  expect(listed.map(([, target]) => join('docs', target!)).sort()).toEqual(
    [...own, 'docs/decisions/README.md', 'docs/routers/README.md'].sort(),
  );
});

test('the index of router families names every page of docs/routers', () => {
  const listed = [...read('docs/routers/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)];
  const own = pages.filter((page) => /^docs\/routers\/(?!README)[^/]+\.md$/.test(page));
  expect([...new Set(listed.map(([, target]) => `docs/routers/${target}`))].sort()).toEqual(
    own.sort(),
  );
});

test('the README leads to the index', () => {
  expect(read('README.md')).toContain('](docs/README.md)');
});

describe.each(pages)('%s', (page) => {
  test('its links lead somewhere', () => {
    const targets = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
    const dead = targets.filter((target) => {
      if (/^https?:/.test(target)) return false;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !anchorsOf(file).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  test('the files that it names are there', () => {
    const named = [
      ...read(page).matchAll(/(?<![\w/.-])((?:src|test|scripts|deploy|bench)\/[\w./-]*\w)/g),
    ]
      .map(([, path]) => path!)
      .filter((path) => !path.includes('NAME') && !path.includes('GROUP'))
      .filter((path) => !path.endsWith('-') && !existsSync(join(root, path)));
    expect([...new Set(named)]).toEqual([]);
  });
});
