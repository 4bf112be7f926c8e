/** 65,536 blocks: the map, the table beside it, changes as they come. How fluent: `npm run bench -- console`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildCli } from '../../scripts/build.mjs';
import { Assets } from '../../src/console/assets.ts';
import { type Browser, keepPicture, launchBrowser } from './browser.ts';
import { framesWhileMoving } from './frames.ts';
import { type LargeSite, startLargeSite } from './large-site.ts';

let site: LargeSite;
let browser: Browser;

beforeAll(async () => {
  await buildCli({ quiet: true });
  site = await startLargeSite(new Assets());
  browser = await launchBrowser(site.url);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.stop();
});

test('the map shows them all, finds one by address, and hears of changes', async () => {
  const page = await browser.open(`${site.url}/space?pool=large&block=10.77.7.0%2F24`);
  await page.getByRole('application').waitFor();
  await page
    .locator('.detail')
    .getByRole('link', { name: /^node\d+$/ })
    .waitFor();
  await page.getByText(/the first 100 of 61.440/).waitFor();
  const before = site.state.get('block', '10.77.7.0/24')!;
  site.state.put('block', before.cidr, { ...before, phase: 'Draining' });
  await page.locator('.detail').getByText('Draining').waitFor();
  const { count, p50Ms, p95Ms, maxMs } = await framesWhileMoving(page);
  console.log(
    `console: 65,536 blocks, ${count} frames while panned and zoomed: p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms, longest ${maxMs.toFixed(1)} ms`,
  );
  expect(count).toBeGreaterThan(0);
  await page.getByPlaceholder('CIDR, node, pool or phase').fill('10.200.9.0/24');
  await expect.poll(() => page.locator('.block-table tbody tr').count()).toBe(1);
  await keepPicture(page, 'space-65536');
  expect(browser.troubles).toEqual([]);
});
