/** The whole console on files that somebody sent: no cluster, nothing installed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seriousFindings } from './audit.ts';
import { type Browser, keepPicture, launchBrowser } from './browser.ts';

const incident = 'test/doctor/fixtures/incident';
const dumps = ['tor1', 'tor2'].flatMap((tor) => ['--rib', `${tor}=${incident}/after-${tor}.dump`]);

interface FileConsole {
  url: string;
  stop(): Promise<void>;
}

async function startConsole(...flags: string[]): Promise<FileConsole> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['dist/cadastre.mjs', 'console', '--listen', '127.0.0.1:0', ...flags],
    // Nothing of a cluster: no kubeconfig, no service account.
    { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH, HOME: '/nonexistent' } },
  );
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (piece: Buffer) => {
      said += piece.toString();
      const [, found] = /is on (http:\S+?)\/?\n/.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => reject(new Error(said)));
  });
  return {
    url,
    async stop() {
      child.removeAllListeners('exit');
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

let server: FileConsole;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  server = await startConsole('--from', `${incident}/after`, ...dumps);
  browser = await launchBrowser(server.url);
  page = await browser.open(`${server.url}/consistency`);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const visit = async (path: string) => {
  await page.goto(`${server.url}${path}`);
  await page.locator('.live-live').waitFor();
};

test('every node against every source: the blackhole of the incident is red on both routers', async () => {
  await page
    .getByText('3 of 3 nodes have records that differ. Agent, Kernel could not be seen.')
    .waitFor();
  const cell = (column: string) =>
    page.locator(`td[data-node="master2"][data-column="router ${column}"]`);
  for (const tor of ['tor1', 'tor2']) {
    await expect.poll(() => cell(tor).getAttribute('class')).toMatch(/say-(missing|differs)/);
  }
  await page.getByText('Blackhole').first().waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await keepPicture(page, 'files-consistency');
});

test('the address space is that of cilium-config, with the blocks that CiliumNodes have', async () => {
  await visit('/space');
  for (const [cidr, node] of [
    ['10.5.113.0/24', 'master1'],
    ['10.5.115.0/24', 'master2'],
    ['10.5.114.0/24', 'master3'],
  ]) {
    await page.getByTitle(`${cidr}, ${node}`).waitFor();
  }
  await keepPicture(page, 'files-space');
});

test('what a drain would do is answered from the files', async () => {
  await visit('/consistency?drain=master3');
  await page.locator('.whatif-verdict').getByText('master1 would lose the network').waitFor();
});

test('without dumps the routers are a column that says that nobody asked them', async () => {
  const alone = await startConsole('--from', `${incident}/after`);
  try {
    await page.goto(`${alone.url}/consistency`);
    await page.locator('th').getByText('not asked').waitFor();
    await page.getByText(/Not asked: Routers\./).waitFor();
    expect(await page.locator('td[data-column="router Routers"]').first().textContent()).toBe('?');
    await keepPicture(page, 'files-not-asked');
  } finally {
    await alone.stop();
  }
});

test('files that are wrong are refused before anything is served', async () => {
  await expect(startConsole('--from', 'README.md')).rejects.toThrow('README.md');
  await expect(startConsole('--from', `${incident}/after/cilium.yaml`)).rejects.toThrow(
    'there is no Node in what was given',
  );
});

test('nothing went wrong in the page, and nobody else was asked', () => {
  const elsewhere = (trouble: string) => !/^asked http:\/\/127\.0\.0\.1/.test(trouble);
  expect(browser.troubles.filter(elsewhere)).toEqual([]);
});
