/**
 * Every story on a real kernel with FRR, one of them also with BIRD, one also with our
 * own stand-in; `npm run soak -- replays` plays seven with BIRD. Two labs are up at any
 * time, each tells its stories one after the other; a test waits for its own story and
 * prints what was measured.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReplayReport } from '../../src/lab/replay/run.ts';
import { closeLabs, labName, mustLab, openLabs, replayStory, tracesOf } from './lab-program.ts';

interface Up {
  apiServerSeconds: number;
  convergedSeconds: number;
  pods: Array<{ name: string; addresses: string[] }>;
}

interface Job {
  name: string;
  up: string[];
  stories: string[];
  /** Played by the soak alone: the same as on FRR, on BIRD. */
  inSoak?: string[];
}

const isSoak = process.env.CADASTRE_REPLAYS === 'all';

/** The longest first, so that two workers end at about the same time. */
const allJobs: Job[] = [
  {
    name: 'frr',
    up: ['incident', '--routers', 'frr'],
    stories: ['incident-then', 'incident-now', 'rolling-upgrade', 'router-loss', 'split-brain'],
  },
  // A site of their own, so that the two longest are told beside the others.
  {
    name: 'long-frr',
    up: ['incident', '--routers', 'frr'],
    stories: ['cordon', 'api-down-an-hour'],
  },
  {
    name: 'bird',
    up: ['incident', '--routers', 'bird', '--api-server', 'embedded'],
    stories: ['incident-now'],
    inSoak: ['incident-then', 'rolling-upgrade'],
  },
  {
    name: 'long-bird',
    up: ['incident', '--routers', 'bird', '--api-server', 'embedded'],
    stories: [],
    inSoak: ['cordon', 'api-down-an-hour'],
  },
  { name: 'cut-frr', up: ['partition', '--routers', 'frr'], stories: ['partition'] },
  {
    name: 'cut-bird',
    up: ['partition', '--routers', 'bird', '--api-server', 'embedded'],
    stories: [],
    inSoak: ['partition'],
  },
  { name: 'pools', up: ['pools', '--routers', 'frr'], stories: ['rack-move'] },
  { name: 'demand', up: ['by-demand', '--routers', 'frr'], stories: ['restore'] },
  { name: 'spares-frr', up: ['spares', '--routers', 'frr'], stories: ['silent-death'] },
  {
    name: 'spares-bird',
    up: ['spares', '--routers', 'bird', '--api-server', 'embedded'],
    stories: [],
    inSoak: ['silent-death'],
  },
  { name: 'racks', up: ['two-racks', '--routers', 'frr'], stories: ['traceroute'] },
  {
    name: 'own',
    up: ['two-racks', '--routers', 'own', '--api-server', 'embedded', '--operators', '1'],
    stories: ['traceroute'],
  },
  {
    name: 'both',
    up: ['dual-stack', '--routers', 'frr', '--api-server', 'embedded', '--operators', '1'],
    stories: [],
  },
  {
    name: 'vxlan',
    up: ['overlay', '--api-server', 'embedded', '--operators', '1'],
    stories: [],
  },
];

const jobs = allJobs
  .map((job) => ({
    ...job,
    stories: [...job.stories, ...(isSoak ? (job.inSoak ?? []) : [])],
  }))
  .filter(({ stories, inSoak }) => stories.length > 0 || inSoak === undefined);
const softwares = isSoak ? ['frr', 'bird'] : ['frr'];

const workers = 2;
const waitMs = 600_000;
/** More than a minute: nothing that expires lasts longer. `npm run soak -- api-down` takes the hour. */
const outage = ['--outage', '65'];

interface Promised<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

const ups = new Map<string, Promised<Up>>();
const reports = new Map<string, Promised<ReplayReport>>();
const ends = new Map<string, Promised<string[]>>();

beforeAll(async () => {
  await openLabs();
  for (const { name, stories } of jobs) {
    ups.set(name, promised());
    ends.set(name, promised());
    for (const story of stories) reports.set(`${name}/${story}`, promised());
  }
  const queue = [...jobs];
  const work = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) await runJob(job);
  };
  for (let at = 0; at < workers; at++) void work();
});

afterAll(async () => {
  await Promise.allSettled([...ends.values()].map(({ promise }) => promise));
  await closeLabs();
}, waitMs);

async function runJob({ name, up, stories }: Job): Promise<void> {
  const own = labName(name);
  const settle = async <T>({ resolve, reject }: Promised<T>, result: Promise<T>) =>
    result.then(resolve, reject);
  await settle(
    ups.get(name)!,
    mustLab(['up', ...up, '--name', own, '-o', 'json']).then(({ stdout }) => JSON.parse(stdout)),
  );
  for (const story of stories) {
    await settle(reports.get(`${name}/${story}`)!, replayStory(own, story, outage));
  }
  await settle(
    ends.get(name)!,
    mustLab(['down', own]).then(() => tracesOf(own)),
  );
}

function promised<T>(): Promised<T> {
  const made = {} as Promised<T>;
  made.promise = new Promise<T>((resolve, reject) => {
    made.resolve = resolve;
    made.reject = reject;
  });
  // Whoever asks hears of it; until somebody does it is no accident.
  made.promise.catch(() => {});
  return made;
}

/** What was not as expected; nothing, in a good world. */
function failures({ steps }: ReplayReport): string[] {
  return steps.flatMap(({ title, expectations }) =>
    expectations.filter(({ ok }) => !ok).map(({ what, why }) => `${title}: ${what}: ${why}`),
  );
}

async function reportOf(key: string): Promise<ReplayReport> {
  const report = await reports.get(key)!.promise;
  const pings = report.pings.map(({ pod, sent, lost }) => `${pod} ${lost}/${sent}`).join(', ');
  const converged = report.steps.map(({ convergedSeconds }) => convergedSeconds ?? '-').join(' ');
  const figures = Object.entries(report.figures).map(([name, value]) => `; ${name} ${value}`);
  console.log(
    `${report.name} on ${report.software}: lost/sent ${pings}; converged after ${converged} s${figures.join('')}`,
  );
  expect(failures(report)).toEqual([]);
  expect(report.ok).toBe(true);
  return report;
}

const lostBy = (report: ReplayReport, isMeant: (node: string) => boolean) =>
  report.pings.filter(({ node }) => isMeant(node)).reduce((sum, { lost }) => sum + lost, 0);

const everySent = (report: ReplayReport) => Math.min(...report.pings.map(({ sent }) => sent));

describe.each(softwares)('on %s', (software) => {
  test(
    'incident-then: a detour, then a blackhole and an orphan',
    async () => {
      const report = await reportOf(`${software}/incident-then`);
      expect(report.software).toEqual([software]);
      const left = report.steps.find(({ title }) => title.startsWith('node1 leaves'))!;
      const lost = left.routeEvents.filter(({ change }) => change === 'removed');
      expect(lost.map(({ router, prefix }) => `${router} ${prefix}`).sort()).toEqual([
        'r238 10.5.115.0/24',
        'r239 10.5.115.0/24',
      ]);
      expect(left.pings['master1-1']).toMatchObject({ lost: 0 });
      expect(left.pings['master2-1']!.lost).toBeGreaterThan(10);
    },
    waitMs,
  );

  test(
    'cordon: a node leaves in every way of Kubernetes, and nobody else loses a ping',
    async () => {
      const report = await reportOf(`long-${software}/cordon`);
      expect(lostBy(report, (node) => node !== 'master2')).toBe(0);
      expect(report.pings.filter(({ node }) => node === 'Services')).toHaveLength(3);
      expect(report.notRestored).toBeUndefined();
    },
    waitMs,
  );

  test(
    'partition: a node that cannot be reached keeps its block, and no address lives twice',
    async () => {
      const report = await reportOf(`cut-${software}/partition`);
      expect(report.software).toEqual([software]);
      expect(report.figures['addresses alive in two places']).toBe(0);
      expect(report.figures['pings lost by others']).toBe(0);
      expect(report.notRestored).toBeUndefined();
    },
    waitMs,
  );

  test(
    'api-down-an-hour: no route goes, and nothing has changed when the API server is back',
    async () => {
      const report = await reportOf(`long-${software}/api-down-an-hour`);
      expect(report.figures['pings lost by others']).toBe(0);
      expect(report.notRestored).toBeUndefined();
    },
    waitMs,
  );

  test(
    'rolling-upgrade: no ping is lost and no route leaves a router',
    async () => {
      const report = await reportOf(`${software}/rolling-upgrade`);
      expect(lostBy(report, () => true)).toBe(0);
      expect(everySent(report)).toBeGreaterThan(70);
      const events = report.steps.flatMap(({ routeEvents }) => routeEvents);
      expect(events.filter(({ change }) => change === 'removed')).toEqual([]);
    },
    waitMs,
  );
});

test.each(['frr', 'bird'])(
  'incident-now on %s: node1 leaves and nobody else loses a ping',
  async (software) => {
    const report = await reportOf(`${software}/incident-now`);
    expect(lostBy(report, (node) => node !== 'node1')).toBe(0);
    expect(everySent(report)).toBeGreaterThan(50);
  },
  waitMs,
);

test.each(softwares)(
  'silent-death on %s: routers go elsewhere after the hold time, the block goes on by a witness',
  async (software) => {
    const report = await reportOf(`spares-${software}/silent-death`);
    expect(report.software).toEqual([software]);
    expect(report.figures['addresses alive in two places']).toBe(0);
    expect(report.figures['pings lost by others']).toBe(0);
    expect(report.notRestored).toBeUndefined();
  },
  waitMs,
);

test(
  'restore: etcd is put back to a backup, and every node has the blocks that it had',
  async () => {
    const report = await reportOf('demand/restore');
    expect(report.figures['addresses alive in two places']).toBe(0);
    expect(report.figures['blocks that the backup did not have']).toBe(6);
    expect(lostBy(report, () => true)).toBe(0);
    expect(report.notRestored).toBeUndefined();
  },
  waitMs,
);

test(
  'router-loss: the other router has every route, and the return costs nobody a ping',
  async () => {
    const report = await reportOf('frr/router-loss');
    expect(report.steps.map(({ routers }) => Object.keys(routers).join())).toEqual([
      'r238,r239',
      'r239',
      'r239',
      'r238,r239',
      'r238,r239',
    ]);
  },
  waitMs,
);

test(
  'split-brain: two leaders, and nobody loses a ping or a route',
  async () => {
    const report = await reportOf('frr/split-brain');
    expect(lostBy(report, () => true)).toBe(0);
  },
  waitMs,
);

test(
  'rack-move: a node moves to another pool and back, and nobody else loses a ping',
  async () => {
    const report = await reportOf('pools/rack-move');
    expect(lostBy(report, (node) => node !== 'b2')).toBe(0);
  },
  waitMs,
);

test.each(['racks', 'own'])(
  'traceroute (%s): as the fifth document shows it',
  async (job) => {
    const report = await reportOf(`${job}/traceroute`);
    const traces = Object.assign({}, ...report.steps.map((step) => step.traces));
    expect(traces).toEqual({
      'a1-1 to a2-1': ['10.4.94.32', '10.4.94.21', 'a2-1'],
      'a1-1 to b1-1': ['10.4.94.32', '10.4.94.1', '10.4.83.1', '10.4.83.7', 'b1-1'],
      'b2-1 to a2-1': ['10.4.83.8', '10.4.83.1', '10.4.94.1', '10.4.94.21', 'a2-1'],
    });
  },
  waitMs,
);

test.each(jobs.map(({ name }) => name))(
  '%s comes up, every pod answers, and goes without a trace',
  async (name) => {
    const { apiServerSeconds, convergedSeconds, pods } = await ups.get(name)!.promise;
    console.log(
      `${name}: API server up after ${apiServerSeconds.toFixed(1)} s, every pod answers ${convergedSeconds.toFixed(1)} s later`,
    );
    expect(pods.length).toBeGreaterThan(1);
    expect(new Set(pods.flatMap(({ addresses }) => addresses)).size).toBe(
      pods.flatMap(({ addresses }) => addresses).length,
    );
    if (name === 'both') expect(pods.every(({ addresses }) => addresses.length === 2)).toBe(true);
    expect(await ends.get(name)!.promise).toEqual([]);
  },
  waitMs,
);
