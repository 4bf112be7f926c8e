/** A real Chromium with an empty profile that calls nobody. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

const artefacts = join(import.meta.dirname, '..', '..', 'artefacts', 'console');

export interface Browser {
  readonly context: BrowserContext;
  /** A new page; whatever goes wrong in it is kept. */
  open(url: string): Promise<Page>;
  /** Errors of scripts, refused content, and requests to anywhere else. */
  readonly troubles: string[];
  close(): Promise<void>;
}

export async function launchBrowser(
  origin: string,
  options: { width?: number; height?: number; scheme?: 'light' | 'dark'; hasTouch?: boolean } = {},
): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'cadastre-chromium-'));
  const troubles: string[] = [];
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
    viewport: { width: options.width ?? 1400, height: options.height ?? 900 },
    colorScheme: options.scheme ?? 'light',
    hasTouch: options.hasTouch ?? false,
  });
  context.setDefaultTimeout(30_000);
  return {
    context,
    troubles,
    async open(url) {
      const page = await context.newPage();
      page.on('pageerror', (error) => troubles.push(`script: ${error.message}`));
      page.on('console', (message) => {
        const text = message.text();
        // A server that is stopped and started in a test is not the page's fault.
        if (
          message.type() === 'error' &&
          !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY/.test(text)
        ) {
          troubles.push(`console: ${text}`);
        }
      });
      page.on('request', (request) => {
        const asked = request.url();
        if (!asked.startsWith(origin) && !asked.startsWith('data:'))
          troubles.push(`asked ${asked}`);
      });
      await page.goto(url);
      await page.locator('.live-live').waitFor();
      return page;
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** Kept for people to look at; never compared. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(artefacts, { recursive: true });
  await page.screenshot({ path: join(artefacts, `${name}.png`), fullPage: true });
}
