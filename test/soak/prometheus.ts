/**
 * A real Prometheus with the shipped rules on a running site (root: one story fills a disk). Each alert
 * fires in its story and clears after it; every query of the dashboard returns data; what is scraped has
 * the labels that docs/metrics.md names, and passes promtool.
 *
 *   npm run soak -- prometheus [WORD]      only stories whose name or alerts hold the word
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { buildCli } from '../../scripts/build.mjs';
import { ensurePrometheus } from '../../scripts/parts.mjs';
import { alerts, dashboardQueries, filledIn } from '../prometheus/expressions.ts';
import { checkScrape } from './prometheus/scrape.ts';
import { PrometheusServer } from './prometheus/server.ts';
import { Site } from './prometheus/site.ts';
import { pause, type Story, setTheScene, stories, until } from './prometheus/stories.ts';

/** In place of every `for` and every window of the rules. */
const duration = '25s';

const [word = ''] = process.argv.slice(2);
const isAsked = ({ name, alerts: named }: Story) =>
  `${name} ${named.map(([alert]) => alert).join(' ')}`.toLowerCase().includes(word.toLowerCase());
const untold = alerts.filter(
  ({ alert }) => !stories.some((story) => story.alerts.some(([name]) => name === alert)),
);
if (untold.length > 0) {
  throw new Error(`no story for ${untold.map(({ alert }) => alert).join(', ')}`);
}

const begin = '<!-- prometheus: begin -->';
const end = '<!-- prometheus: end -->';
const figures: string[] = [];
const beganMs = performance.now();
const seconds = (sinceMs: number) => Math.round((performance.now() - sinceMs) / 1000);
const say = (text: string) => console.log(`${String(seconds(beganMs)).padStart(4)} s  ${text}`);

const programs = await ensurePrometheus();
const buildSeconds = seconds(beganMs);
await buildCli({ quiet: true });
const site = await Site.start();
// One disk that can be full.
mkdirSync(site.stateOf('n3'), { recursive: true });
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', site.stateOf('n3')]);
let failures = 0;
try {
  await setTheScene(site);
  const prometheus = await PrometheusServer.start(programs, site, duration);
  const loaded = await prometheus.rules();
  say(`Prometheus has loaded ${loaded.length} alerts and scrapes ${site.programs.length} programs`);
  let told = 0;
  for (const story of stories.filter(isAsked)) {
    try {
      await tell(story, prometheus);
      told += story.alerts.length;
    } catch (error) {
      failures += 1;
      say(`FAILED: ${story.name}: ${error instanceof Error ? error.message : error}`);
      await (async () => story.end(site))().catch(() => undefined);
    }
  }
  // After a few stories not everything has happened that it shows.
  if (word === '') await checkDashboard(prometheus);
  const scraped = await checkScrape(site, programs);
  say(`${scraped} series have the labels that the page names, and promtool finds nothing`);
  await prometheus.stop();
  if (failures === 0 && word === '') writeFigures(scraped);
  say(
    `${told} alerts fired and cleared in ${stories.filter(isAsked).length - failures} stories, ${dashboardQueries.length} queries of the dashboard returned data; ${seconds(beganMs) - buildSeconds} s, Prometheus built in ${buildSeconds} s`,
  );
} finally {
  for (const { part } of site.programs) await part?.kill9();
  execFileSync('umount', [site.stateOf('n3')]);
  await site.stop();
}
process.exitCode = failures === 0 ? 0 : 1;

/** What docs/soak.md says of the last run. */
function writeFigures(scraped: number): void {
  const path = 'docs/soak.md';
  const busy = loadavg()[1]! > 2 * availableParallelism() ? ', on a busy machine' : '';
  const text = [
    `${alerts.length} alerts fired and cleared in ${stories.length} stories, with ${duration} in place of every duration; ${dashboardQueries.length} queries of the dashboard returned data; ${scraped} series checked. It took ${seconds(beganMs) - buildSeconds} s${busy}; building Prometheus and promtool for the first time takes some minutes more.`,
    '',
    ...figures,
  ].join('\n');
  const [head = '', rest = ''] = readFileSync(path, 'utf8').split(begin);
  const tail = rest.slice(rest.indexOf(end));
  writeFileSync(path, `${head}${begin}\n\n${text}\n\n${tail}`);
}

async function tell(story: Story, prometheus: PrometheusServer): Promise<void> {
  const startMs = performance.now();
  await story.begin(site);
  for (const [name, labels = {}] of story.alerts) {
    await until(`${name} fires`, async () => {
      await story.goOn?.(site);
      const found = await firing(prometheus, name, labels);
      const { annotations } = found ?? {};
      if (annotations === undefined) return false;
      if (/<no value>|\{\{/.test(`${annotations.summary} ${annotations.description}`)) {
        throw new Error(`${name} says "${annotations.summary}"`);
      }
      return true;
    });
  }
  const firedSeconds = seconds(startMs);
  await story.end(site);
  for (const [name, labels = {}] of story.alerts) {
    await until(
      `${name} clears`,
      async () => (await firing(prometheus, name, labels)) === undefined,
    );
  }
  const names = story.alerts.map(([name]) => name).join(', ');
  figures.push(
    `- ${story.name}: ${names} fired after ${firedSeconds} s and cleared after ${seconds(startMs)} s`,
  );
  say(
    `${story.name}: ${names} fired after ${firedSeconds} s and cleared after ${seconds(startMs)} s`,
  );
}

async function firing(
  prometheus: PrometheusServer,
  name: string,
  labels: Record<string, string>,
): Promise<Awaited<ReturnType<PrometheusServer['firing']>>[number] | undefined> {
  return (await prometheus.firing()).find(
    (one) =>
      one.name === name &&
      Object.entries(labels).every(([label, value]) => one.labels[label] === value),
  );
}

async function checkDashboard(prometheus: PrometheusServer): Promise<void> {
  await until('the operator leads again', async () =>
    /^cadastre_blocks_awaiting_release\{/m.test(await site.metrics(site.program('operator'))),
  );
  for (let pod = 0; pod < 5; pod++) await site.cni('n1', 'ADD', `shown-${pod}`);
  await pause(3_000);
  for (const { panel, expr } of dashboardQueries) {
    const rows = await prometheus.query(filledIn(expr, '30s'));
    if (rows.length > 0) continue;
    failures += 1;
    say(`FAILED: the panel "${panel}" has no data: ${expr}`);
  }
}
