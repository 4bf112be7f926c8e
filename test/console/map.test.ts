/** The map of routes with five hundred nodes: racks fold, and what is wrong is found at a glance. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildCli } from '../../scripts/build.mjs';
import { Assets } from '../../src/console/assets.ts';
import { seriousFindings } from './audit.ts';
import { type Browser, keepPicture, launchBrowser } from './browser.ts';
import { blockOf, faults, startMapSite } from './map-site.ts';

let site: Awaited<ReturnType<typeof startMapSite>>;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  await buildCli({ quiet: true });
  site = await startMapSite(new Assets());
  browser = await launchBrowser(site.url, { width: 1280 });
  page = await browser.open(`${site.url}/map`);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.stop();
});

const linesTo = (place: string, kind: string) =>
  page.locator(`.line-${kind}[data-line$="> ${place}"]`).count();
const rackOf = (node: string) => `rack-${Math.floor(Number(node.slice(4)) / 8) + 1}`;
const pod = (node: string) => blockOf(Number(node.slice(4))).replace('.0/24', '.9');

test('five hundred nodes are 63 folded racks, a square for each node', async () => {
  await expect.poll(() => page.locator('.map-rack').count()).toBe(63);
  expect(await page.locator('.square').count()).toBe(500);
  expect(await page.locator('.map-node').count()).toBe(0);
  expect(await page.locator('.square-wrong').count()).toBe(2 + 1);
  expect(await page.locator('.square-cut-off').count()).toBe(1);
  await page.getByText('4 of 500 nodes with a wrong way or a session that is down.').waitFor();
  // Only what is wrong has a line: a line to each of them would hide the map.
  expect(await page.locator('.line-session').count()).toBe(0);
  for (const node of faults.swapped) expect(await linesTo(`rack ${rackOf(node)}`, 'wrong')).toBe(2);
  expect(await linesTo(`rack ${rackOf(faults.down)}`, 'down')).toBe(1);
});

test('a rack that is opened shows its nodes, and whose block a router leads there', async () => {
  const [first, second] = faults.swapped as [string, string];
  await page
    .locator(`[data-rack=${rackOf(first)}] button`)
    .first()
    .click();
  await page.locator(`[data-node=${first}]`).waitFor();
  expect(await page.locator('.map-node').count()).toBe(8);
  expect(await page.locator(`[data-node=${first}]`).getAttribute('data-state')).toBe('wrong');
  const words = `gets ${blockOf(Number(second.slice(4)))} of ${second} from tor1, tor2`;
  await page.getByText(words).waitFor();
  expect(page.url()).toContain(`racks=${rackOf(first)}`);
  await page.reload();
  await page.locator(`[data-node=${first}]`).waitFor();
});

test('the way to an address: hop by hop, red where it is wrong', async () => {
  const [first, second] = faults.swapped as [string, string];
  const ask = async (to: string) => {
    await page.getByLabel('Which way does a packet take to').fill(to);
    await page.keyboard.press('Enter');
    const hops = page.locator('.map-way-list li').first();
    await expect.poll(() => page.url()).toContain(`to=${to}`);
    return hops;
  };
  const detour = await ask(pod(first));
  await detour.getByText('arrives by a detour').waitFor();
  expect(await detour.locator('.hop b').allTextContents()).toEqual(['tor1', second, first]);
  expect(await detour.locator('.hop-wrong b').allTextContents()).toEqual([second]);
  await expect.poll(() => linesTo(`node ${second}`, 'way-wrong')).toBe(2);
  await expect.poll(() => linesTo(`node ${first}`, 'way-wrong')).toBe(1);
  await keepPicture(page, 'map-500-detour');
  const lost = await ask(pod(faults.cutOff));
  await lost.getByText(`tor1 has no route to ${pod(faults.cutOff)}`).waitFor();
  const right = await ask(pod('node42'));
  await right.getByText('arrives', { exact: true }).waitFor();
  await expect.poll(() => linesTo('node node42', 'way')).toBe(2);
  await ask('10.300.1.1');
  await page.getByText('ask with ?to=ADDRESS, such as 10.5.113.7').waitFor();
  browser.troubles.splice(0, Infinity, ...browser.troubles.filter((one) => !/\b400\b/.test(one)));
});

test('only what is wrong is left when one asks for that', async () => {
  await page.getByLabel('only racks with something wrong').check();
  const wrong = new Set([...faults.swapped, faults.cutOff, faults.down].map(rackOf));
  await expect.poll(() => page.locator('.map-rack').count()).toBe(wrong.size);
  await page.getByLabel('only racks with something wrong').uncheck();
});

test.each([1280, 1600, 390])(
  'at %i points nothing is cut off, and axe is content',
  async (width) => {
    await page.setViewportSize({ width, height: 900 });
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(`${site.url}/map?to=${pod(faults.swapped[0]!)}`);
      await page.getByText('arrives by a detour').first().waitFor();
      const overhang = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overhang).toBeLessThanOrEqual(0);
      if (scheme === 'light' ? width === 390 : width === 1280)
        expect(await seriousFindings(page), scheme).toEqual([]);
      await keepPicture(page, `map-500-${width}-${scheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  },
);

test('a cluster has no story: the console begins with the address space', async () => {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(site.url);
  await page.getByRole('heading', { name: 'Address space', level: 1 }).waitFor();
  expect(await page.locator('nav').getByRole('link', { name: 'Incident' }).count()).toBe(0);
});

test('no script failed, nothing was refused, and nobody else was asked', () => {
  expect(browser.troubles).toEqual([]);
});
