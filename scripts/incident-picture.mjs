/**
 * The moving picture of the incident in docs/: `cadastre up` is started, the story is taken
 * step by step in a real Chromium, and what it shows becomes the frames of one animated PNG.
 *
 *   node scripts/incident-picture.mjs
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { chromium } from 'playwright-core';
import { buildCli } from './build.mjs';
import { checkoutDir } from './checkout.mjs';
import { cliBundle } from './stale.mjs';

const framesOfStep = 3;
const frameMs = 800;

await buildCli({ quiet: true });
const dir = mkdtempSync(join(tmpdir(), 'cadastre-picture-'));
const up = spawn(process.execPath, [cliBundle, 'up', '--data', join(dir, 'up'), '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const frames = await takeFrames(await printedAddress());
  const file = join(checkoutDir, 'docs', 'incident.png');
  const picture = animated(frames);
  writeFileSync(file, picture);
  console.log(`${file}: ${frames.length} frames, ${Math.round(picture.length / 1024)} KB`);
} finally {
  up.kill('SIGTERM');
  await new Promise((resolve) => up.once('exit', resolve));
  rmSync(dir, { recursive: true, force: true });
}

/** What `cadastre up` prints once everything is there. */
function printedAddress() {
  return new Promise((resolve, reject) => {
    let said = '';
    up.stdout.on('data', (chunk) => {
      said += chunk;
      const found = /^ {2}console +(\S+)$/m.exec(said);
      if (found !== null) resolve(found[1]);
    });
    up.once('exit', (code) => reject(new Error(`cadastre up ended (${code})`)));
  });
}

/** @param {string} address */
async function takeFrames(address) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      deviceScaleFactor: 0.75,
      colorScheme: 'light',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(200_000);
    await page.goto(address);
    const frames = [];
    for (let step = 0; step < 5; step++) {
      if (step > 0) await page.keyboard.press('n');
      await page.locator(`.story-view[data-step="${step}"][data-state="ready"]`).waitFor();
      const steps = await page.locator('.story-steps').boundingBox();
      const drawing = await page.locator('.story-map').first().boundingBox();
      if (steps === null || drawing === null) throw new Error('the story is not shown');
      const top = steps.y - 8;
      const clip = { x: 0, y: top, width: 1280, height: 580 };
      for (let frame = 0; frame < framesOfStep; frame++) {
        await page.waitForTimeout(frameMs);
        frames.push(await page.screenshot({ clip }));
      }
    }
    return frames;
  } finally {
    await browser.close();
  }
}

/**
 * One animated PNG of pictures of one size (https://www.w3.org/TR/png-3/#apng-frame-based-animation):
 * the first is an ordinary PNG, the data of the others follows as fdAT.
 *
 * @param {Buffer[]} pictures
 */
function animated(pictures) {
  const [first] = pictures.map(chunksOf);
  const header = first.find(({ type }) => type === 'IHDR').data;
  let sequence = 0;
  const control = () => {
    const data = Buffer.alloc(26);
    data.writeUInt32BE(sequence++, 0);
    header.copy(data, 4, 0, 8);
    data.writeUInt16BE(frameMs, 20);
    data.writeUInt16BE(1_000, 22);
    return chunk('fcTL', data);
  };
  const count = Buffer.alloc(8);
  count.writeUInt32BE(pictures.length, 0);
  const parts = [pictures[0].subarray(0, 8), chunk('IHDR', header), chunk('acTL', count)];
  for (const [index, picture] of pictures.entries()) {
    parts.push(control());
    for (const { type, data } of chunksOf(picture)) {
      if (type !== 'IDAT') continue;
      if (index === 0) parts.push(chunk('IDAT', data));
      else {
        const number = Buffer.alloc(4);
        number.writeUInt32BE(sequence++);
        parts.push(chunk('fdAT', Buffer.concat([number, data])));
      }
    }
  }
  return Buffer.concat([...parts, chunk('IEND', Buffer.alloc(0))]);
}

/** @param {Buffer} picture */
function chunksOf(picture) {
  const chunks = [];
  for (let at = 8; at < picture.length; ) {
    const length = picture.readUInt32BE(at);
    const type = picture.toString('latin1', at + 4, at + 8);
    chunks.push({ type, data: picture.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

/** @param {string} type @param {Buffer} data */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
