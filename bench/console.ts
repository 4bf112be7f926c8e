/**
 * 65,536 blocks on the map of the console, panned and zoomed in a real Chromium
 * (headless, without a graphics card). `ratio console-frame` is the p95 of the
 * time from one frame to the next over 32 ms: at 1 or below nobody sees it stutter.
 */
import { join } from 'node:path';
import { checkoutDir } from '../scripts/checkout.mjs';
import { ensureDebianPackages } from '../scripts/debian.mjs';
import { Assets } from '../src/console/assets.ts';
import { launchBrowser } from '../test/console/browser.ts';
import { framesWhileMoving } from '../test/console/frames.ts';
import { startLargeSite } from '../test/console/large-site.ts';

const missing = await ensureDebianPackages(['chromium']);
if (missing !== undefined) throw new Error(missing);
const site = await startLargeSite(new Assets(join(checkoutDir, 'dist/console')));
const browser = await launchBrowser(site.url);
try {
  const page = await browser.open(`${site.url}/space?pool=large`);
  await page.getByRole('application').waitFor();
  await framesWhileMoving(page, 1);
  const { count, p50Ms, p95Ms, maxMs } = await framesWhileMoving(page, 10);
  console.log(
    `${count} frames: p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms, longest ${maxMs.toFixed(1)} ms`,
  );
  console.log(`ratio console-frame ${(p95Ms / 32).toFixed(3)}`);
} finally {
  await browser.close();
  await site.stop();
}
