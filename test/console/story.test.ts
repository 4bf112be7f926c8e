/** The incident, watched in a real Chromium: what is red when, on the left and on the right. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startUp, type UpProcess } from '../up/up-process.ts';
import { seriousFindings } from './audit.ts';
import { type Browser, keepPicture, launchBrowser } from './browser.ts';

let up: UpProcess;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  up = await startUp();
  browser = await launchBrowser(up.url, { width: 1280 });
  page = await browser.open((await up.printed()).address);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await up?.stop();
});

const poll = { timeout: 100_000 };
const isAt = (step: number) =>
  page.locator(`.story-view[data-step="${step}"][data-state="ready"]`).waitFor(poll);
const site = (side: 'left' | 'right') => page.locator(`[data-site=${side}]`);
const mark = (side: 'left' | 'right', words: string) =>
  site(side).locator('.mark').getByText(words, { exact: true });
const all = (side: 'left' | 'right', selector: string, attribute: string) =>
  site(side)
    .locator(selector)
    .evaluateAll((found, name) => found.map((one) => one.getAttribute(name)), attribute);

/** By node: what becomes of pings to its pod. */
const answers = async (side: 'left' | 'right') => {
  const [nodes, found] = [
    await all(side, '[data-pod]', 'data-pod'),
    await all(side, '[data-pod]', 'data-answer'),
  ];
  return Object.fromEntries(nodes.map((node, index) => [node, found[index]]));
};

/** Lines from routers to nodes that are red. */
const redLines = async (side: 'left' | 'right') =>
  (await all(side, '.session-wrong', 'data-session')).length;

/** Cells of the routers' tables that are red: `r238 10.5.115.0/24 bad`. */
const redRoutes = async (side: 'left' | 'right') =>
  [
    ...(await all(side, '.route-bad', 'data-route')),
    ...(await all(side, '.route-wrong', 'data-route')),
  ].sort();

const redPings = async (side: 'left' | 'right') =>
  (await all(side, '[data-ping][data-way=lost]', 'data-ping')).sort();

const everybody = (answer: string, nodes = ['master1', 'master2', 'master3', 'node1']) =>
  Object.fromEntries(nodes.map((node) => [node, answer]));

/** On the right nothing is ever red. */
const rightIsFine = async (nodes: string[]) => {
  expect(await answers('right')).toEqual(everybody('straight', nodes));
  expect(await redLines('right')).toBe(0);
  expect(await redRoutes('right')).toEqual([]);
  expect(await redPings('right')).toEqual([]);
  const lost = await site('right').locator('.story-count').allTextContents();
  expect(lost.every((words) => words.startsWith('0 of '))).toBe(true);
  await mark('right', `${nodes.length} of ${nodes.length} pods answer`).waitFor(poll);
};
const masters = ['master1', 'master2', 'master3'];
const four = [...masters, 'node1'];

test('the console opens on the story: both sites are there, and every pod answers', async () => {
  expect(new URL(page.url()).pathname).toBe('/');
  await page.getByRole('heading', { name: 'The incident', level: 1 }).waitFor();
  await isAt(0);
  for (const side of ['left', 'right'] as const) {
    await expect.poll(() => answers(side), poll).toEqual(everybody('straight'));
    expect(await redLines(side)).toBe(0);
    expect(await all(side, '.session-right', 'data-session')).toHaveLength(8);
  }
  await rightIsFine(four);
  await keepPicture(page, 'story-before');
});

test('a second allocator: on the left every block leads to the wrong node, on the right none', async () => {
  await page.getByRole('button', { name: 'Step' }).click();
  await isAt(1);
  expect(await answers('left')).toEqual(everybody('detour'));
  expect(await redLines('left')).toBe(8);
  expect(await redRoutes('left')).toHaveLength(8);
  expect(await redPings('left')).toEqual([]);
  await rightIsFine(four);
  // The record is wrong on both sides; only on the left somebody follows it.
  for (const side of ['left', 'right'] as const) {
    expect(await site(side).locator('.story-other').count()).toBe(4);
  }
});

test('the detour: a ping to master2 passes node1, and what-if says whom a drain would cut off', async () => {
  await page.keyboard.press('n');
  await isAt(2);
  expect(await all('left', '.story-bows [data-passed]', 'data-passed')).toContain('node1 master2');
  await site('left').getByText('outside → r238 → node1 → master2 → pod').waitFor();
  await site('right').getByText('outside → r238 → master2 → pod').waitFor();
  await site('left').locator('[data-would-lose=master2]').waitFor(poll);
  await site('right').locator('[data-would-lose=""]').waitFor(poll);
  await rightIsFine(four);
  await mark('left', 'Detour × 4').waitFor(poll);
  expect(await mark('right', 'Detour').count()).toBe(0);
  // Dots move, and have their colour from where they are.
  await page
    .locator('[data-site=left] .dot-detour')
    .first()
    .waitFor({ ...poll, state: 'attached' });
  expect(await page.locator('[data-site=right] .dot-detour').count()).toBe(0);
  await keepPicture(page, 'story-detour');
});

test('node1 is drained: master2 is dark on the left, nobody on the right', async () => {
  await page.keyboard.press('n');
  await isAt(3);
  expect(await answers('left')).toEqual({
    ...{ master1: 'detour', master2: 'lost', master3: 'detour' },
  });
  expect(await redPings('left')).toEqual(['master2-1 r238', 'master2-1 r239']);
  expect(await redRoutes('left')).toContain('r238 10.5.115.0/24 bad');
  await mark('left', 'master2 cut off').waitFor(poll);
  await site('left').getByText('no answer: r238 has no route to 10.5.115.2').waitFor();
  await page
    .locator('[data-site=left] .dot-lost')
    .first()
    .waitFor({ ...poll, state: 'attached' });
  await rightIsFine(masters);
  expect(await page.locator('[data-site=right] .dot-lost').count()).toBe(0);
  await mark('left', 'Blackhole').waitFor(poll);
  await keepPicture(page, 'story-drained');
});

test('restarting every speaker does not help, and the block of node1 is an orphan', async () => {
  await page.keyboard.press('n');
  await isAt(4);
  expect(await answers('left')).toEqual({
    ...{ master1: 'detour', master2: 'lost', master3: 'detour' },
  });
  expect(await redRoutes('left')).toContain('r238 10.5.112.0/24 wrong');
  await mark('left', 'Orphan').waitFor(poll);
  await rightIsFine(masters);
  await expect.poll(() => page.getByRole('button', { name: 'Step' }).isDisabled()).toBe(true);
});

test.each(['light', 'dark'] as const)('axe has nothing serious to say, %s', async (scheme) => {
  await page.emulateMedia({ colorScheme: scheme });
  expect(await seriousFindings(page)).toEqual([]);
  await keepPicture(page, `story-${scheme}`);
});

test.each([1280, 1600, 390])('at %i points nothing is cut off', async (width) => {
  await page.setViewportSize({ width, height: 900 });
  await expect
    .poll(() =>
      page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      ),
    )
    .toBeLessThanOrEqual(0);
  await keepPicture(page, `story-${width}`);
});

test('a reset puts both sites back; it is played and paused by keys', async () => {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.keyboard.press('r');
  await page.locator('.story-view[data-state=starting]').waitFor(poll);
  await isAt(0);
  for (const side of ['left', 'right'] as const) {
    await expect.poll(() => answers(side), poll).toEqual(everybody('straight'));
  }
  await page.keyboard.press('p');
  const at = () => page.locator('.story-view').getAttribute('data-step').then(Number);
  await expect.poll(at, poll).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Pause' }).waitFor(poll);
  await page.keyboard.press('p');
  await page.getByRole('button', { name: 'Play' }).waitFor(poll);
  // Paused: the next step is the one that is asked for.
  await page.locator('.story-view[data-state=ready]').waitFor(poll);
  const paused = await at();
  await page.keyboard.press('n');
  await isAt(paused + 1);
});

test('everything else of the console is one click away, and is about the site beside the story', async () => {
  await page.getByRole('link', { name: 'its routes as a map' }).click();
  await page.getByRole('heading', { name: 'Map', level: 1 }).waitFor();
  await expect.poll(() => page.locator('.map-node').count(), poll).toBe(4);
  await expect.poll(() => page.locator('[data-state=fine]').count(), poll).toBe(4);
  await expect.poll(() => page.locator('.line-session').count(), poll).toBe(8);
  await page.locator('[data-node=master2] .map-block').click();
  const way = page.locator('.map-way-list li').first();
  await way.getByText('arrives', { exact: true }).waitFor(poll);
  expect(await way.locator('.hop b').allTextContents()).toEqual(['tor1', 'master2']);
  await expect.poll(() => page.locator('.line-way').count(), poll).toBe(2);
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    expect(await seriousFindings(page), scheme).toEqual([]);
    await keepPicture(page, `map-4-${scheme}`);
  }
});

test('a page without the token sees the story and cannot play it', async () => {
  const other = await browser.open(up.url);
  await other.evaluate('sessionStorage.clear()');
  await other.reload();
  await other.getByText('This page may only look').waitFor(poll);
  await expect.poll(() => other.getByRole('button', { name: 'Play' }).isDisabled()).toBe(true);
  await other.close();
});

test('no script failed, nothing was refused, and nobody else was asked', () => {
  expect(browser.troubles).toEqual([]);
});
