/** The incident, started and prevented, told to its end in the browser. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubectl } from '../parts/kubectl.ts';
import { startUp, type UpProcess } from '../up/up-process.ts';
import { seriousFindings } from './audit.ts';
import { type Browser, keepPicture, launchBrowser } from './browser.ts';

let up: UpProcess;
let browser: Browser;
let page: Page;
/** Whatever was sent before a change: none of it may hold the token. */
const asked: Array<{ url: string; headers: Record<string, string> }> = [];

beforeAll(async () => {
  up = await startUp();
  browser = await launchBrowser(up.url);
  browser.context.on('request', (one) => asked.push({ url: one.url(), headers: one.headers() }));
  page = await browser.open((await up.printed()).address.replace('/#', '/try#'));
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await up?.stop();
});

const poll = { timeout: 60_000 };
const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
const view = (name: string) => page.locator('nav').getByRole('link', { name, exact: true }).click();
const cell = (node: string, column: string) =>
  page.locator(`td[data-node="${node}"][data-column="${column}"]`);

test('a page without the token may only look, and says where the address with it is', async () => {
  const other = await browser.open(`${up.url}/try`);
  await other.getByText('This page may only look').waitFor(poll);
  await other.getByText('in the terminal where it runs').waitFor(poll);
  await expect
    .poll(() => other.getByRole('button', { name: 'Add a node' }).isDisabled())
    .toBe(true);
  expect(await seriousFindings(other)).toEqual([]);
  await keepPicture(other, 'try-without-token');
  // Pasted into the same page, which is not loaded anew for it.
  await other.goto((await up.printed()).address.replace('/#', '/try#'));
  await expect.poll(() => other.getByRole('button', { name: 'Add a node' }).isEnabled()).toBe(true);
  expect(await other.getByText('This page may only look').count()).toBe(0);
  await other.close();
});

test('the token is gone from the address, and is kept by this tab alone', async () => {
  const { changeToken } = await up.printed();
  expect(page.url()).toBe(`${up.url}/try`);
  expect(await page.evaluate('JSON.stringify({ ...localStorage })')).toBe('{}');
  expect(await browser.context.cookies()).toEqual([]);
  await page.reload();
  await page.locator('.live-live').waitFor();
  await expect.poll(() => page.getByRole('button', { name: 'Add a node' }).isEnabled()).toBe(true);
  for (const { url, headers } of asked) {
    expect(url).not.toContain(changeToken);
    expect(JSON.stringify(headers)).not.toContain(changeToken);
  }
});

test('the second allocator writes, and the permutation is seen at a glance', async () => {
  await press('Switch it on');
  await page.getByText('4 of 4 nodes carry a wrong spec.podCIDRs.').waitFor(poll);
  await expect.poll(() => page.locator('.story .done').count(), poll).toBe(3);
  await keepPicture(page, 'try-second-allocator');
  await view('Consistency');
  await expect.poll(() => page.locator('.truth-lines path').count(), poll).toBe(4);
  await page.getByText('4 of 4 nodes have records that differ.').waitFor(poll);
  await page
    .locator('.cause')
    .getByText('a second allocator writes blocks of its own')
    .waitFor(poll);
  await expect
    .poll(() => page.locator('.findings').getByText('SourcesDisagree').count(), poll)
    .toBe(4);
  await keepPicture(page, 'consistency-permutation');
  await view('Address space');
  await expect.poll(() => page.locator('.plot.disputed').count(), poll).toBe(4);
  await keepPicture(page, 'space-disputed');
});

test('no route follows it: draining node1 takes its own route, and nobody else’s', async () => {
  await view('Consistency');
  await page.getByLabel('What if').selectOption('drain node1');
  await page.getByText('Nobody else loses a route.').waitFor(poll);
  await view('Try it');
  await page.getByLabel('Node', { exact: true }).selectOption('node1');
  await press('Drain node1');
  await page
    .getByRole('status')
    .getByText(/node1 drains/)
    .waitFor(poll);
  await view('Consistency');
  for (const router of ['tor1', 'tor2']) {
    await expect.poll(() => cell('node1', `router ${router}`).innerText(), poll).toBe('–');
    for (const node of ['master1', 'master2', 'master3']) {
      const held = await cell(node, `router ${router}`).innerText();
      expect(held).toBe(await cell(node, 'truth').innerText());
    }
  }
  await keepPicture(page, 'consistency-drained');
  await view('Events');
  await page.getByLabel('Reason', { exact: true }).selectOption('Withdrawn', poll);
  await page
    .locator('.entries')
    .getByText(/node1 withdrew/)
    .first()
    .waitFor(poll);
});

test('back in service, and a node joins, while the page is open', async () => {
  await view('Try it');
  await page.getByLabel('Node', { exact: true }).selectOption('node1');
  await press('Bring node1 back');
  await press('Add a node');
  await page.getByRole('status').getByText('node2 is added').waitFor(poll);
  await view('Routes');
  await expect.poll(() => page.locator('.cell-good').count(), poll).toBe(10);
});

test('a router is killed and comes back', async () => {
  await view('Try it');
  await press('Kill tor1');
  await page.getByRole('button', { name: 'Revive tor1' }).waitFor(poll);
  await view('Routes');
  await expect.poll(() => page.locator('.cell-bad').count(), poll).toBe(5);
  await page.locator('.peer-head').getByText('down').waitFor(poll);
  await page
    .getByRole('row', { name: /master1/ })
    .getByRole('button')
    .first()
    .click();
  const why = /SessionNotEstablished the session with tor1 .* is \w+/;
  await page.locator('.beside-card').getByText(why).waitFor(poll);
  await keepPicture(page, 'routes-router-down');
  await view('Consistency');
  await page.getByText(/tor1 could not be seen/).waitFor(poll);
  await page.getByRole('link', { name: 'master1' }).first().click();
  await page.locator('.unannounced').getByText(why).waitFor(poll);
  await view('Try it');
  await press('Revive tor1');
  await view('Routes');
  await expect.poll(() => page.locator('.cell-good').count(), poll).toBe(10);
});

test('a node is taken out: its block rests, and nobody else gets it', async () => {
  await view('Try it');
  await page.getByLabel('Node', { exact: true }).selectOption('node2');
  await press('Take node2 out');
  await view('Address space');
  await expect.poll(() => page.locator('.plot-Cooling').count(), poll).toBe(1);
  await keepPicture(page, 'space-cooling');
});

test('switched off, the nodes register anew and get their own blocks back', async () => {
  const blocks = async () =>
    (
      await kubectl(up, [
        'get',
        'nodeblocks',
        '-o',
        'custom-columns=C:.spec.cidr,N:.spec.node.name',
        '--no-headers',
      ])
    ).stdout
      .split('\n')
      .map((line) => line.trim().replace(/\s+/, ' '))
      .filter((line) => line !== '' && !line.endsWith('node2'))
      .sort();
  const before = await blocks();
  expect(before).toHaveLength(4);
  await view('Try it');
  await press('Switch it off again');
  await view('Consistency');
  await expect.poll(() => page.locator('.truth-lines path').count(), poll).toBe(0);
  await page.getByText('Everything that was seen says the same.').waitFor(poll);
  await expect.poll(blocks, poll).toEqual(before);
  for (const node of ['master1', 'master2', 'master3', 'node1']) {
    await expect.poll(() => cell(node, 'Node.spec').innerText(), poll).toBe('–');
    await expect
      .poll(() => cell(node, 'router tor1').innerText(), poll)
      .toBe(await cell(node, 'truth').innerText());
  }
});

test('the server is killed and started again: the page finds it by itself', async () => {
  await view('Nodes');
  const names = async () => (await page.locator('tbody th').allTextContents()).sort();
  await expect.poll(names, poll).toEqual(['master1', 'master2', 'master3', 'node1']);
  await up.part.kill9();
  // What is shown is old now, and says so.
  await page.getByText(/^as of \d\d:\d\d:\d\d$/).waitFor(poll);
  await keepPicture(page, 'away');
  await up.restart();
  await page.locator('.live-live').waitFor(poll);
  await expect.poll(names, poll).toEqual(['master1', 'master2', 'master3', 'node1']);
  await expect.poll(() => page.getByText('serving').count(), poll).toBe(4);
});

test('the token of an earlier start is no longer good, and the page says what to do', async () => {
  await view('Try it');
  await press('Add a node');
  await page.getByText('This page may only look').waitFor(poll);
  const { address } = await up.printed();
  await page.goto(address.replace('/#', '/try#'));
  await page.locator('.live-live').waitFor();
  await press('Add a node');
  await page.getByRole('status').getByText('node2 is added').waitFor(poll);
  // The refusal above is one that was asked for.
  browser.troubles.splice(0, Infinity, ...browser.troubles.filter((one) => !/\b401\b/.test(one)));
});

test('no script failed, nothing was refused, and nobody else was asked', () => {
  expect(browser.troubles).toEqual([]);
});
