/** Sites of 4, 50 and 500 nodes: every view, three widths, light and dark; one browser for all. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCli } from '../../scripts/build.mjs';
import { Assets } from '../../src/console/assets.ts';
import { seriousFindings } from './audit.ts';
import { type Browser, keepPicture, launchBrowser } from './browser.ts';
import { type ManySite, startManySite } from './many-site.ts';

const sizes = [4, 50, 500] as const;
const widths = [1600, 1280, 390] as const;
const sites = new Map<number, ManySite>();
let browser: Browser;
let page: Page;

beforeAll(async () => {
  await buildCli({ quiet: true });
  const assets = new Assets();
  for (const size of sizes) {
    sites.set(size, await startManySite(assets, size, { isBroken: size > 4 }));
  }
  browser = await launchBrowser('http://127.0.0.1');
  page = await browser.open(`${sites.get(4)!.url}/space`);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  for (const site of sites.values()) await site.stop();
});

const visit = async (size: number, path: string) => {
  await page.goto(`${sites.get(size)!.url}${path}`);
  await page.locator('.live-live').waitFor();
  await page.getByRole('heading', { level: 1 }).waitFor();
};

const views = [
  '/space',
  '/nodes',
  '/nodes/node3',
  '/routes',
  '/consistency',
  '/events',
  '/routers/tor1',
];

describe.each(sizes)('%i nodes', (size) => {
  test.each(views)('%s fits at every width, and is no longer than a few screens', async (path) => {
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      await visit(size, path);
      const [overhang, height] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight]',
      );
      expect(overhang, `${width}`).toBeLessThanOrEqual(0);
      expect(height, `${width}`).toBeLessThan(width === 390 ? 6_000 : 3_000);
      if (size === 500)
        await keepPicture(page, `many-${size}-${width}${path.replace(/\W+/g, '-')}`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

describe('500 nodes', () => {
  test('what is wrong is one cause with everything below it, most pods hurt first', async () => {
    await visit(500, '/consistency');
    const causes = page.locator('.cause > summary .finding-about');
    await expect
      .poll(() => causes.allTextContents())
      .toEqual([
        'routes to node500 are missing: 10.95.3.0/24',
        'tor3 is unreachable from 16 of 16 nodes',
      ]);
    await page.getByText('tor3 is unreachable from 16 of 16 nodes').click();
    await page.locator('.cause .below').getByText('node17').first().waitFor();
  });

  test('every session is a square, and those that are not up come first', async () => {
    await visit(500, '/routes');
    await expect.poll(() => page.locator('button.square').count()).toBe(1_000);
    expect(await page.locator('button.square-bad').count()).toBe(18);
    await page.locator('.dense-rack').first().getByText('rack-2').waitFor();
    await page.locator('button.square-bad').first().click();
    await page.locator('.beside-card').getByText('node17 → tor3').waitFor();
    await page.getByLabel('only what is not up').check();
    await expect.poll(() => page.locator('.matrix tbody tr').count()).toBe(17);
  });

  test('one map shows all pools, those that run out first in front', async () => {
    await visit(500, '/space');
    await expect.poll(() => page.locator('.tile').count()).toBe(32);
    const days = await page
      .locator('.tile')
      .getByText(/days left/)
      .allTextContents();
    const numbers = days.map((text) => Number(text.replace(/\D/g, '')));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  });

  test('tables sort by a column', async () => {
    await visit(500, '/nodes');
    await page.getByRole('button', { name: 'addresses in use' }).click();
    await page.getByRole('button', { name: 'addresses in use' }).click();
    await expect.poll(() => page.url()).toContain('sort=-addresses');
    await expect.poll(() => page.locator('tbody tr').first().innerText()).toContain('109 of 253');
  });

  test('who has an address is one question away, and its page says so', async () => {
    await visit(500, '/nodes');
    await page.keyboard.press('/');
    await page.keyboard.type('10.70.3.77');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('10.70.3.77 lies in 10.70.3.0/24 of node100').waitFor();
  });

  test('axe has nothing serious to say, light or dark', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const path of ['/space', '/routes', '/consistency', '/events']) {
        await visit(500, path);
        expect(await seriousFindings(page), `${path} ${scheme}`).toEqual([]);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
  });
});

describe('a past moment', () => {
  test('is part of the address, and every view of it shows what was then', async () => {
    const ago = new Date(Date.now() - 40 * 86_400_000).toISOString();
    await visit(50, `/space?at=${ago}`);
    await page.locator('.time-shown').getByText('as of').waitFor();
    const held = page.locator('.figure', { hasText: 'blocks' }).locator('dd');
    await expect.poll(() => held.innerText()).not.toBe('50');
    const then = Number(await held.innerText());
    expect(then).toBeGreaterThan(0);
    await visit(50, `/consistency?at=${ago}`);
    await page.getByText('says the same').waitFor();
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByText('17 of 50 nodes have records that differ.').waitFor();
    expect(page.url()).not.toContain('at=');
  });

  test('the line of what happened is walked by keys', async () => {
    await visit(4, '/events');
    const count = await page.locator('.entries li').count();
    await page.getByLabel('The moment that is shown').focus();
    await page.keyboard.press('Home');
    await expect.poll(() => page.url()).toContain('at=');
    await expect.poll(() => page.locator('.entries li').count()).toBeLessThan(count);
    await page.keyboard.press('End');
    await expect.poll(() => page.url()).not.toContain('at=');
  });
});

test('no script failed', () => expect(browser.troubles).toEqual([]));
