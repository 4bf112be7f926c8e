/** The Chinese pages are in step with the English ones: what a translation does not change is the same. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fencesOf, headingsOf, linksOf, pages, root, textOf } from './docs-text.ts';

const inChinese = (page: string) =>
  page === 'README.md' ? 'README.zh-CN.md' : page.replace(/^docs\//, 'docs/zh-CN/');

const translated = ['README.md', 'docs/install.md', 'docs/concepts.md', 'docs/runbook.md'];

/** How many rows each table has, and how many columns. */
const tablesOf = (page: string) =>
  [...textOf(page).matchAll(/(?:^\|.*\|\n)+/gm)].map(([table]) => {
    const rows = table.trimEnd().split('\n');
    return [rows.length, rows[0]!.split(/(?<!\\)\|/).length - 2];
  });

/** What of the text is code, and so in no language: commands, names, values. */
const codeOf = (page: string) =>
  [...textOf(page).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!).sort();

/**
 * Where links lead, from the checkout. To a page that has a Chinese one it is that one, with its own
 * anchors: those of findings and alerts are words that are not translated.
 */
const targetsOf = (page: string) =>
  linksOf(page)
    .filter((target) => !/^(README\.md|README\.zh-CN\.md)$/.test(target))
    .map((target) => {
      if (/^https?:/.test(target)) return target;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : normalize(join(dirname(page), path));
      const isTwofold = translated.includes(file) || translated.map(inChinese).includes(file);
      return isTwofold || anchor === undefined
        ? file.replace('docs/zh-CN/', 'docs/').replace('README.zh-CN.md', 'README.md')
        : `${file}#${anchor}`;
    });

test('every Chinese page is one of the pages that are kept in both languages', () => {
  const chinese = pages.filter((page) => page.includes('zh-CN'));
  expect(chinese.sort()).toEqual(translated.map(inChinese).sort());
});

describe.each(translated)('%s in Chinese', (page) => {
  const other = inChinese(page);

  test('has the same headings, level by level', () => {
    const levels = (of: string) => headingsOf(of).map(({ level }) => level);
    expect(levels(other)).toEqual(levels(page));
    // A heading of one word that is a name stays: it is the anchor.
    const names = (of: string) =>
      headingsOf(of).flatMap(({ text }) => (/^[A-Z][a-z]+[A-Z]\w+$/.test(text) ? [text] : []));
    expect(names(other)).toEqual(names(page));
  });

  test('has the same code, block by block', () => {
    expect(fencesOf(other)).toEqual(fencesOf(page));
  });

  test('has the same commands and names in its text', () => {
    expect(codeOf(other)).toEqual(codeOf(page));
  });

  test('has tables of the same size', () => {
    expect(tablesOf(other)).toEqual(tablesOf(page));
  });

  test('links to the same places, and to the Chinese page where there is one', () => {
    expect(targetsOf(other).sort()).toEqual(targetsOf(page).sort());
    const links = linksOf(other).filter((target) => !/^(https?:|#)/.test(target));
    const inEnglish = links
      .map((target) => normalize(join(dirname(other), target.split('#')[0]!)))
      .filter((file) => translated.includes(file) && existsSync(join(root, inChinese(file))));
    // The way to the page in the other language.
    expect(inEnglish.filter((file) => file !== page)).toEqual([]);
  });

  test('no sentence of it is English', () => {
    const sentences = textOf(other)
      .replace(/`[^`]*`|\]\([^)]*\)/g, '')
      .split('\n')
      .filter((line) => /(?:\b[a-z]+ ){5}/.test(line));
    expect(sentences).toEqual([]);
  });
});
