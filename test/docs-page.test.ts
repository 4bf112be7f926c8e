/** The index of docs, the links and pictures of all pages, and the files that pages name. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorsOf, headingsOf, linksOf, pages, readPage, root } from './docs-text.ts';

test('the index names every page of docs, each once', () => {
  const listed = [...readPage('docs/README.md').matchAll(/^- \[.+?\]\(([^)]+)\) — \S/gm)];
  const own = pages.filter(
    (page) => /^docs\/(zh-CN\/)?[^/]+\.md$/.test(page) && page !== 'docs/README.md',
  );
  expect(listed.map(([, target]) => join('docs', target!)).sort()).toEqual(
    [...own, 'docs/decisions/README.md', 'docs/routers/README.md', 'README.zh-CN.md'].sort(),
  );
});

test('the index of router families names every page of docs/routers', () => {
  const listed = [...readPage('docs/routers/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)];
  const own = pages.filter((page) => /^docs\/routers\/(?!README)[^/]+\.md$/.test(page));
  expect([...new Set(listed.map(([, target]) => `docs/routers/${target}`))].sort()).toEqual(
    own.sort(),
  );
});

test('the README leads to the index', () => {
  expect(readPage('README.md')).toContain('](docs/README.md)');
});

describe.each(pages)('%s', (page) => {
  test('its links and pictures lead somewhere', () => {
    const dead = linksOf(page).filter((target) => {
      if (/^https?:/.test(target)) return false;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), decodeURIComponent(path));
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !anchorsOf(file).includes(decodeURIComponent(anchor));
    });
    expect(dead).toEqual([]);
  });

  test('its pictures say in words what they show', () => {
    const pictures = [...readPage(page).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)];
    for (const [, words = '', file = ''] of pictures) {
      expect(words.length, file).toBeGreaterThan(20);
      if (!file.endsWith('.svg')) continue;
      const svg = readFileSync(join(root, dirname(page), file), 'utf8');
      for (const part of ['<title ', '<desc ', 'prefers-color-scheme: dark']) {
        expect(svg, file).toContain(part);
      }
      expect(svg, 'nothing is fetched').not.toMatch(/(?:href|src)="|url\(["']?http/);
    }
  });

  test('it has one title, and no level of headings is left out', () => {
    const levels = headingsOf(page).map(({ level }) => level);
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    expect(levels[0]).toBe(1);
    expect(levels.filter((level, at) => at > 0 && level > levels[at - 1]! + 1)).toEqual([]);
  });

  test('the files that it names are there', () => {
    const named = [
      ...readPage(page).matchAll(/(?<![\w/.-])((?:src|test|scripts|deploy|bench)\/[\w./-]*\w)/g),
    ]
      .map(([, path]) => path!)
      .filter((path) => !path.includes('NAME') && !path.includes('GROUP'))
      .filter((path) => !path.endsWith('-') && !existsSync(join(root, path)));
    expect([...new Set(named)]).toEqual([]);
  });
});
