/** Frame times while the map is dragged and zoomed, as the page itself sees them. */
import type { Page } from 'playwright-core';

export interface Frames {
  count: number;
  p50Ms: number;
  p95Ms: number;
  maxMs: number;
}

/** In the page: how long each frame took, from one to the next. */
const measure = `
  globalThis.frameTimes = [];
  globalThis.isMeasuring = true;
  let before = performance.now();
  const tick = (now) => {
    if (!globalThis.isMeasuring) return;
    globalThis.frameTimes.push(now - before);
    before = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame((now) => { before = now; requestAnimationFrame(tick); });
`;

export async function framesWhileMoving(page: Page, rounds = 4): Promise<Frames> {
  const map = page.getByRole('application');
  const box = await map.boundingBox();
  if (box === null) throw new Error('there is no map');
  const x = box.x + box.width / 2;
  const y = box.y + box.height / 2;
  await page.evaluate(measure);
  for (let round = 0; round < rounds; round++) {
    await page.mouse.move(x, y);
    for (let step = 0; step < 12; step++) await page.mouse.wheel(0, -120);
    await page.mouse.down();
    for (let step = 0; step < 40; step++) {
      await page.mouse.move(x + 200 * Math.sin(step / 6), y + 140 * Math.cos(step / 5));
    }
    await page.mouse.up();
    for (let step = 0; step < 12; step++) await page.mouse.wheel(0, 120);
  }
  const times = await page.evaluate<number[]>('isMeasuring = false, frameTimes');
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), maxMs: at(1) };
}
