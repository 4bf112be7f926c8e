/** Every view by its promises, on a living site and a real Chromium. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubectl } from '../parts/kubectl.ts';
import { startUp, type UpProcess } from '../up/up-process.ts';
import { seriousFindings } from './audit.ts';
import { type Browser, keepPicture, launchBrowser } from './browser.ts';
import { paste } from './paste.ts';

let up: UpProcess;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  up = await startUp();
  browser = await launchBrowser(up.url);
  page = await browser.open(`${up.url}/space`);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await up?.stop();
});

/** In words of the page: what has the focus, and whether one sees it. */
const whereFocusIs = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  const { outlineStyle } = getComputedStyle(element);
  return { name: element.innerText || element.ariaLabel || element.tagName, outlineStyle };
})()`;

const visit = async (path: string) => {
  await page.goto(`${up.url}${path}`);
  await page.locator('.live-live').waitFor();
};

interface Listed {
  items: Array<{ metadata: { name: string }; spec: { cidr?: string; node?: { name: string } } }>;
}

/** The same addresses in every run. */
function prand(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

const listed = async (kinds: string) => {
  const answer = await kubectl(up, ['get', kinds, '-o', 'json']);
  expect(answer.stderr).toBe('');
  return (JSON.parse(answer.stdout) as Listed).items;
};

describe('Pools', () => {
  test('shows what kubectl shows: every pool, and every block with its node', async () => {
    await visit('/space');
    for (const { metadata } of await listed('ippools')) {
      await page.locator('.pools').getByText(metadata.name, { exact: true }).waitFor();
    }
    const blocks = await listed('nodeblocks');
    expect(blocks).toHaveLength(4);
    for (const { spec } of blocks) {
      await page.getByTitle(`${spec.cidr}, ${spec.node?.name}`).waitFor();
    }
    await keepPicture(page, 'space');
  });

  test('a block that is chosen tells its owner, and the address can be sent to somebody', async () => {
    await visit('/space');
    await page.getByTitle(/^10\.5\.113\.0\/24/).click();
    const detail = page.locator('.detail');
    await detail.getByRole('link', { name: 'master2' }).waitFor();
    expect(page.url()).toContain('block=10.5.113.0%2F24');
    await page.reload();
    await detail.getByText('rack-94').first().waitFor();
    await detail.getByRole('link', { name: 'master2' }).click();
    await page.getByRole('heading', { name: 'master2', level: 1 }).waitFor();
  });

  test('a large pool is a map: point, zoom, walk by keys', async () => {
    await visit('/space?pool=overflow');
    const map = page.getByRole('application');
    await map.waitFor();
    const box = (await map.boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page
      .locator('.tip')
      .getByText(/^10\.\d+\.\d+\.0\/24$/)
      .waitFor();
    await page.mouse.wheel(0, -600);
    await map.click();
    await expect.poll(() => page.url()).toContain('block=10.');
    const before = page.url();
    await map.press('ArrowRight');
    await expect.poll(() => page.url()).not.toBe(before);
    await map.press('+');
    await map.press('0');
    await keepPicture(page, 'space-hilbert');
  });

  test('colours by rack or pool; the table beside it finds by any word', async () => {
    await visit('/space');
    await page.getByLabel('pool', { exact: true }).check();
    await page.locator('.legend').getByText('overflow').waitFor();
    await page.getByPlaceholder('CIDR, node, pool or phase').fill('master3');
    await expect.poll(() => page.locator('.block-table tbody tr').count()).toBe(1);
  });
});

describe('Nodes', () => {
  test('the list has what kubectl has', async () => {
    await visit('/nodes');
    const names = (await listed('nodes')).map(({ metadata }) => metadata.name).sort();
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(names.length);
    expect((await page.locator('tbody th').allTextContents()).sort()).toEqual(names);
    await expect.poll(() => page.getByText('serving').count()).toBe(names.length);
    await keepPicture(page, 'nodes');
  });

  test('one node: blocks, addresses in use, why this pool, sessions, history', async () => {
    await visit('/nodes/node1');
    await page.getByText(/\d+ of 253 addresses in use/).waitFor();
    await page.getByText('priority 10 before overflow with 0').first().waitFor();
    await expect.poll(() => page.getByText('Established').count()).toBe(2);
    await page.locator('.entries').getByText('Assigned', { exact: true }).waitFor();
    await keepPicture(page, 'node');
  });

  test('a node that is not there is said so', async () => {
    await visit('/nodes/nobody');
    await page.getByText('There is no node called nobody').waitFor();
  });
});

test('Routes: state and age of every session; announced against held, route by route', async () => {
  await visit('/routes');
  await expect.poll(() => page.locator('.cell-good').count()).toBe(8);
  await page
    .getByRole('row', { name: /master1/ })
    .getByRole('button')
    .first()
    .click();
  const comparison = page.locator('.beside-card');
  await comparison.getByText('master1 → tor1').waitFor();
  await expect
    .poll(async () => (await comparison.locator('tbody td').allTextContents()).join(' '))
    .toMatch(/^yes 10\.4\.94\.32 10\.4\.94\.32 \d/);
  await page.reload();
  await comparison.getByText('master1 → tor1').waitFor();
  await keepPicture(page, 'routes');
});

test('Consistency: everything says the same, and what-if names who would lose', async () => {
  await visit('/consistency');
  await page.getByText('Everything that was seen says the same.').waitFor();
  expect(await page.locator('.truth-lines path').count()).toBe(0);
  await page.getByLabel('What if').selectOption('drain master1');
  await page.getByText('Nobody else loses a route.').waitFor();
  await page.locator('.whatif').getByText('goes with its node').waitFor();
  expect(page.url()).toContain('drain=master1');
  await keepPicture(page, 'consistency');
});

test('Events: newest first, by node, block and reason', async () => {
  await visit('/events');
  await page.locator('.entries li').first().waitFor();
  const ages = await page
    .locator('.entries time')
    .evaluateAll((times) => times.map((time) => time.getAttribute('datetime') ?? ''));
  expect(ages).toEqual([...ages].sort().reverse());
  await page.getByLabel('Node', { exact: true }).fill('master2');
  await page.getByLabel('Reason', { exact: true }).selectOption('Assigned');
  await expect.poll(() => page.locator('.entries li').count()).toBe(1);
  await page.getByText('10.5.113.0/24').first().waitFor();
  await keepPicture(page, 'events');
});

describe('Find anything', () => {
  const asked = (text: string) =>
    fetch(`${up.url}/api/find?q=${encodeURIComponent(text)}`).then(
      (answer) =>
        answer.json() as Promise<{ found: Array<{ subject: { kind: string; name: string } }> }>,
    );

  test('who has each of 100 random addresses is what the register says', async () => {
    const blocks = (await listed('nodeblocks')) as unknown as Array<{
      spec: { cidr: string; node: { name: string } };
    }>;
    const owner = new Map(
      blocks.map(({ spec }) => [spec.cidr.split('.').slice(0, 3).join('.'), spec.node.name]),
    );
    const random = prand(7);
    for (let round = 0; round < 100; round++) {
      const third = 108 + Math.floor(random() * 16);
      const address = `10.5.${third}.${1 + Math.floor(random() * 253)}`;
      const { found } = await asked(address);
      const node = found.find(({ subject }) => subject.kind === 'node')?.subject.name;
      expect(node, address).toBe(owner.get(`10.5.${third}`));
    }
  });

  test('by keys: an address leads to its pod, its block, and who had it', async () => {
    await visit('/nodes');
    const { found } = await asked('web');
    const pod = found.find(({ subject }) => subject.kind === 'pod')!.subject.name;
    await page.keyboard.press('Control+k');
    await page.keyboard.type(pod);
    await page.getByRole('option', { name: pod }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await keepPicture(page, 'find');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: pod, level: 1 }).waitFor();
    await page
      .locator('.pairs')
      .getByRole('link', { name: /^10\.5\.\d+\.\d+$/ })
      .click();
    await page.getByText(`is the address of pod ${pod}`).waitFor();
    await page.locator('.pairs').getByRole('link', { name: /\/24$/ }).click();
    await page.locator('.card', { hasText: 'Pods' }).getByRole('link', { name: pod }).waitFor();
    await page.locator('.entries').getByText('Assigned').waitFor();
    await keepPicture(page, 'block');
  });

  test.each([
    ['/routers/tor1', 'In its table'],
    ['/pools/rack-94', 'Blocks'],
    ['/blocks/10.5.113.0%2F24', 'History'],
    ['/prefixes/10.5.112.0%2F21', 'Blocks'],
  ])('%s has a page that sorts, filters and fits', async (path, title) => {
    await visit(path);
    const card = page.locator('.card', { hasText: title }).first();
    await card.waitFor();
    const head = page.locator('th button').first();
    if ((await head.count()) > 0) {
      await head.click();
      await expect.poll(() => page.url()).toContain('sort');
    }
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('what is not there says so', async () => {
    await visit('/pods/default%2Fnobody');
    await page.getByText('There is no pod called default/nobody').waitFor();
    expect(browser.troubles.splice(0)).toEqual([expect.stringContaining('404')]);
  });
});

describe('the command that a view offers shows the same, pasted into a shell', () => {
  test.each([
    ['/space', 0, '10.5.113.0/24'],
    ['/space?block=10.5.113.0%2F24', 0, 'master2'],
    ['/nodes', 0, 'master2'],
    ['/nodes/master2', 0, '10.5.113.0/24'],
    ['/blocks/10.5.113.0%2F24', 0, 'master2'],
    ['/routers/tor1', 0, 'Established'],
    ['/routes', 0, 'Established'],
    ['/routes?node=master1&peer=tor1', 0, '10.5.112.0/24'],
    ['/consistency', 0, 'tor1'],
    ['/consistency?drain=master2', 0, 'tor1, tor2: via master2'],
    ['/consistency?lose=tor1', 0, 'lose-router tor1: safe'],
    ['/map', 0, 'tor1'],
    ['/events', 0, 'Assigned'],
    ['/events?block=10.5.113.0%2F24', 0, 'Announced'],
    ['/try', 0, 'nodeblock.cadastre.dev/10-5-113-0-24'],
  ] as const)('%s', async (path, wanted, words) => {
    await visit(path);
    const offered = await page.getByTestId('same-command').locator('code').innerText();
    expect(offered).toMatch(/(^kubectl|\/cadastre) /);
    const { stdout, stderr, code } = await paste(offered, up);
    expect(code, `${offered}: ${stderr}`).toBe(wanted);
    expect(stdout, offered).toContain(words);
  });
});

test('an address that leads nowhere says so, and knows the way', async () => {
  await page.goto(`${up.url}/nowhere`);
  await page.getByText('There is no view called nowhere').waitFor();
  // The one answer of 404 that is meant.
  expect(browser.troubles.splice(0)).toEqual([expect.stringContaining('404')]);
  await page.getByRole('link', { name: 'To the address space' }).click();
  await page.getByRole('heading', { name: 'Address space', level: 1 }).waitFor();
  await visit('/space?pool=gone');
  await page.getByText('There is no pool called gone').waitFor();
  expect((await fetch(`${up.url}/nowhere`)).status).toBe(404);
});

test('addresses that views had before lead to them, filters included', async () => {
  const followed = async (path: string) => {
    await page.goto(`${up.url}${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page.url().slice(up.url.length);
  };
  expect(await followed('/pools?pool=rack-83')).toBe('/space?pool=rack-83');
  expect(await followed('/truth?drain=node1')).toBe('/consistency?drain=node1');
  expect(await followed('/time')).toBe('/events');
});

test('filters are part of the address', async () => {
  await visit('/space');
  await page.getByPlaceholder('CIDR, node, pool or phase').fill('master3');
  await expect.poll(() => page.url()).toContain('find=master3');
  await page.reload();
  await expect.poll(() => page.locator('.block-table tbody tr').count()).toBe(1);
  await page.getByLabel('pool', { exact: true }).check();
  await page.locator('.pools').getByText('rack-83').click();
  await expect.poll(() => page.url()).toMatch(/pool=rack-83&colour=pool/);
});

test('nothing moves under the hand while pods come and go', async () => {
  for (const path of ['/space', '/nodes', '/consistency']) {
    await visit(path);
    await page.locator('.figures').waitFor();
    // What moves because the page is being filled is no jump.
    await page.waitForTimeout(1_500);
    const figures = page.locator('.figure', { hasText: 'pod addresses' }).locator('dd');
    const before = await figures.innerText();
    await page.evaluate(() => {
      const seen = globalThis as unknown as { shift: number };
      seen.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          seen.shift += (entry as unknown as { value: number }).value;
      }).observe({ type: 'layout-shift' as 'mark' });
    });
    await expect.poll(() => figures.innerText(), { timeout: 60_000 }).not.toBe(before);
    const shift = await page.evaluate(() => (globalThis as unknown as { shift: number }).shift);
    expect(shift, path).toBeLessThan(0.01);
  }
});

describe('by keys alone', () => {
  test('from view to view, to a filter, to the keys, and along a strip', async () => {
    await visit('/space');
    await page.keyboard.press('3');
    await page.getByRole('heading', { name: 'Nodes', level: 1 }).waitFor();
    await page.keyboard.press('f');
    await page.keyboard.type('node1');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('2');
    const plot = page.getByTitle(/^10\.5\.112\.0\/24/);
    await plot.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('block=10.5.113.0%2F24');
    await page.keyboard.press('6');
    await page.getByRole('heading', { name: 'Consistency', level: 1 }).waitFor();
  });

  test('everything that can be clicked can be reached, and shows where one is', async () => {
    await visit('/consistency');
    const reached = new Set<string>();
    for (let step = 0; step < 60; step++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<{ name: string; outlineStyle: string } | null>(
        whereFocusIs,
      );
      if (focused === null) break;
      reached.add(focused.name);
      expect(focused.outlineStyle, focused.name).not.toBe('none');
    }
    for (const name of ['Address space', 'Try it', 'master1', 'Copy'])
      expect([...reached]).toContain(name);
  });
});

describe('for everybody', () => {
  const paths = [
    '/space',
    '/space?pool=overflow',
    '/nodes',
    '/nodes/node1',
    '/routes',
    '/map?to=10.5.113.9',
    '/consistency?drain=node1',
    '/events',
    '/try',
  ];

  test.each(paths)('axe has nothing serious to say about %s', async (path) => {
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await visit(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await seriousFindings(page), scheme).toEqual([]);
    }
    await keepPicture(page, `dark${path.replace(/\W+/g, '-')}`);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  test.each([390, 820, 1100])(
    'at %i points the views and all words of the figures are there',
    async (width) => {
      await page.setViewportSize({ width, height: 900 });
      await visit('/consistency');
      const cut = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.top nav, .figure dt')]
        .filter((each) => each.scrollWidth > each.clientWidth)
        .map((each) => each.innerText)`,
      );
      await keepPicture(page, `consistency-${width}`);
      await page.setViewportSize({ width: 1400, height: 900 });
      expect(cut).toEqual([]);
    },
  );

  test('on a phone: every view fits, and the views are in reach of a thumb', async () => {
    const phone = await launchBrowser(up.url, { width: 390, height: 844, hasTouch: true });
    try {
      const small = await phone.open(`${up.url}/space`);
      for (const path of paths) {
        await small.goto(`${up.url}${path}`);
        await small.locator('.live-live').waitFor();
        await small.getByRole('heading', { level: 1 }).waitFor();
        const overhang = await small.evaluate<number>(
          'document.documentElement.scrollWidth - window.innerWidth',
        );
        expect(overhang, path).toBeLessThanOrEqual(0);
        await keepPicture(small, `phone${path.replace(/\W+/g, '-')}`);
      }
      await small.locator('nav').getByRole('link', { name: 'Nodes' }).tap();
      await small.getByRole('heading', { name: 'Nodes', level: 1 }).waitFor();
      expect(phone.troubles).toEqual([]);
    } finally {
      await phone.close();
    }
  });
});

/** As clouds name their machines; with both families, and a pool larger than the map's cells. */
async function mustFitWithLongNames(site: UpProcess, at: Page) {
  const name = 'ip-10-4-94-201.eu-central-1.compute.internal.example.com';
  const pool = (of: string, spec: object) => ({
    apiVersion: 'cadastre.dev/v1alpha1',
    kind: 'IPPool',
    metadata: { name: of },
    spec,
  });
  const long = 'a-pool-with-a-very-long-name-for-the-whole-of-the-northern-building';
  const items = [
    pool(long, { cidrs: ['fd00:10:64::/48'], blockSize: { ipv6: 64 } }),
    pool('huge', { cidrs: ['10.128.0.0/9'], blockSize: { ipv4: 28 }, priority: 20 }),
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: { addresses: [{ type: 'InternalIP', address: '10.4.94.201' }] },
    },
  ];
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { exitCode, stderr } = await kubectl(site, ['create', '-f', '-'], { stdin: list });
  expect(exitCode, stderr).toBe(0);
  await at.goto(`${site.url}/nodes`);
  await at.getByText('serving').waitFor();
  await at.getByText(/^\d+ of 13$/).waitFor();
  for (const width of [390, 1400]) {
    await at.setViewportSize({ width, height: 900 });
    const views = [
      'space',
      'space?pool=huge',
      'nodes',
      `nodes/${name}`,
      'routes',
      'consistency',
      'try',
    ];
    for (const path of views) {
      await at.goto(`${site.url}/${path}`);
      await at.getByRole('heading', { level: 1 }).waitFor();
      const overhang = await at.evaluate<number>(
        'document.documentElement.scrollWidth - window.innerWidth',
      );
      expect(overhang, `${path} at ${width}`).toBeLessThanOrEqual(0);
      if (/space|consistency/.test(path))
        await keepPicture(at, `long-${width}-${path.slice(0, 5)}`);
    }
  }
}

test('a site without nodes says so in every view, and one with long names fits', async () => {
  const bare = await startUp(['--nodes', '0']);
  const other = await launchBrowser(bare.url);
  try {
    const empty = await other.open(`${bare.url}/space`);
    await empty.getByText('No block is assigned yet.').waitFor();
    for (const path of ['nodes', 'routes', 'consistency']) {
      await empty.goto(`${bare.url}/${path}`);
      await empty.locator('.empty', { hasText: 'There are no nodes yet.' }).waitFor();
    }
    for (const path of ['events', 'try']) {
      await empty.goto(`${bare.url}/${path}`);
      await empty.getByText('Nothing has happened yet.').waitFor();
    }
    await keepPicture(empty, 'no-nodes-try');
    await mustFitWithLongNames(bare, empty);
    expect(other.troubles).toEqual([]);
  } finally {
    await other.close();
    await bare.stop();
  }
});

test('no script failed, nothing was refused, and nobody else was asked', () => {
  expect(browser.troubles).toEqual([]);
});
