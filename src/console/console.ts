/**
 * The room's essay. `console` shows, in a browser, who holds which piece of
 * address space, and whether everybody says the same. It decides nothing and, in
 * a cluster, changes nothing.
 *
 *   API server ─▶ caches ─▶ cluster-feed ─▶ state (rows) ─▶ event-stream ─▶ web/
 *   routers (where they can be asked) ──────┘                ▲
 *   plan: findings, what-if ─────────────────────────────────┘
 *
 *   state, rows       everything the page knows, and what changed since
 *   cluster-feed      objects ─▶ rows, only of what changed
 *   time-line         what happened
 *   past              the rows of a moment, out of the history of blocks
 *   finder            what a name or an address is, and what is known of it
 *   guard             Host, token, origin, token for changes
 *   console-routes    the paths
 *   web/              the page: preact, CSS by hand, canvas; bundled, nothing is fetched elsewhere
 *
 * Not to be "optimised" away: the check of `Host` on loopback (a page of the web
 * could otherwise read everything by DNS rebinding); no inline script or style;
 * the resumable stream (a laptop that slept gets the sum, not the whole).
 */
import type { Clock } from '../base/clock.ts';
import { CadastreError } from '../base/errors.ts';
import { addHealthRoutes, type HealthCheck, type HealthChecks } from '../base/health-routes.ts';
import { HttpServer } from '../base/http-server.ts';
import type { Log } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import type { ReadCluster } from '../cluster/read-cluster.ts';
import type { KubeClient } from '../kube/client.ts';
import type { StatedSettings } from '../model/cluster-state.ts';
import { evidenceOf } from '../plan/doctor/evidence.ts';
import { Assets } from './assets.ts';
import { ClusterFeed } from './cluster-feed.ts';
import type { ConsoleRouters } from './console-routers.ts';
import { addConsoleRoutes, pageHeaders } from './console-routes.ts';
import type { ConsoleStory } from './console-story.ts';
import { EventStream } from './event-stream.ts';
import { Examiner } from './examiner.ts';
import { followedSource, savedSource } from './feed-source.ts';
import { Finder, type OtherPods } from './finder.ts';
import { consoleGuard, isLoopbackHost } from './guard.ts';
import { rowsAsOf } from './past.ts';
import { type RouterView, tablesOf } from './router-view.ts';
import type { MetaRow } from './rows.ts';
import { ConsoleState } from './state.ts';
import type { TryIt } from './try-it.ts';

export interface ConsoleOptions {
  /** The cluster that is followed, or the files that were read in its place. */
  client: KubeClient | ReadCluster;
  listen: { host: string; port: number };
  /** Demanded from everybody; without one only loopback is served. */
  token?: string | undefined;
  about: Pick<MetaRow, 'title' | 'version' | 'cluster' | 'mode' | 'program' | 'commandFlags'>;
  /** What flags say of the cluster: the mode, its pool, the Service networks. */
  stated?: StatedSettings | undefined;
  routers?: ConsoleRouters | undefined;
  tryIt?: TryIt | undefined;
  story?: ConsoleStory | undefined;
  otherPods?: OtherPods | undefined;
  /** More reasons not to be ready. */
  notReady?: (() => string | undefined) | undefined;
  metrics?: Metrics | undefined;
  clock: Clock;
  log: Log;
}

export interface RunningConsole {
  readonly url: string;
  readonly port: number;
  readonly state: ConsoleState;
  notReady(): string | undefined;
  /** What /readyz says. */
  readonly readiness: HealthChecks;
  /** The routers or the play changed without the API server knowing. */
  touch(): void;
  stop(): Promise<void>;
}

/** How often ages of sources and routers are looked at, if nothing else happens. */
const lookEveryMs = 2_000;
const coalesceMs = 150;

function consoleCheck(notReady: string | undefined): HealthCheck {
  return { isOk: notReady === undefined, says: notReady ?? 'everything is shown' };
}

export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { client, listen, token, about, routers, tryIt, story, clock, log } = options;
  const isLoopback = isLoopbackHost(listen.host);
  if (!isLoopback && token === undefined) {
    throw new CadastreError('BAD_FLAG', `the console on ${listen.host} needs a token`, {
      remedy: 'Give --console-token-file, or listen on 127.0.0.1.',
    });
  }
  const stopping = new AbortController();
  const state = new ConsoleState({ epoch: clock.wallMs().toString(36) });
  const stated = options.stated ?? {};
  const files = 'items' in client ? client : undefined;
  const source =
    'items' in client ? savedSource(client) : followedSource({ client, stated, clock, log });
  const feed = new ClusterFeed({ source, state, stated, clock, log });
  const stream = new EventStream(state);
  const notReady = () => feed.notReady() ?? options.notReady?.();
  // Asking a router with hundreds of sessions costs more than all the rest of a look.
  let seen: RouterView[] | undefined;
  const routerViews = () => {
    seen ??= routers?.views() ?? [];
    return seen;
  };
  const evidence = () =>
    evidenceOf(feed.clusterState(), {
      isPodListApart: files === undefined,
      nowMs: clock.wallMs(),
      routers: routers?.tables?.() ?? tablesOf(routerViews()),
    });
  const finder = new Finder(evidence, options.otherPods);
  const examiner = new Examiner({
    evidence,
    notReady,
    // In files no session is being set up.
    settleMs: files === undefined ? undefined : 0,
    state,
    clock,
    log,
  });
  let shown: RouterView[] | undefined;
  const look = () => {
    const sources = [...feed.sources(), ...(routers?.sources?.() ?? [])];
    state.put('meta', '', { ...about, tryIt: tryIt?.switches() ?? null, sources });
    // The same answer again would be compared as text, row by row, to find that nothing changed.
    if (routers === undefined || shown === routerViews()) return;
    shown = routerViews();
    state.putAll('router', new Map(routerViews().map((view) => [view.name, view])));
  };
  let soon: NodeJS.Timeout | undefined;
  const touch = () => {
    soon ??= setTimeout(() => {
      soon = undefined;
      look();
    }, coalesceMs);
    soon.unref();
  };
  const server = new HttpServer({
    log,
    guard: consoleGuard({ isLoopback, token, changeToken: tryIt?.changeToken }),
    headers: pageHeaders,
  });
  const metrics = options.metrics ?? new Metrics();
  const readers = metrics.gauge('cadastre_console_readers', 'Pages that follow the console now.');
  metrics.onCollect(() => readers.set(stream.readers));
  const readiness = new Map([['console', () => consoleCheck(notReady())]]);
  addHealthRoutes(server, { metrics, ready: readiness });
  addConsoleRoutes(server, {
    assets: new Assets(),
    state,
    stream,
    finder,
    past: (atMs) => rowsAsOf(evidence(), atMs),
    detail: (name) => feed.detail(name),
    whatIf: (action) => examiner.ask(action),
    ways: (to) => examiner.ways(to),
    tryIt,
    story,
  });
  if (story !== undefined) {
    story.watchedBy(() => stream.readers);
    story.onChange(() => state.put('story', '', story.row()));
    state.put('story', '', story.row());
  }
  look();
  await server.listen(listen);
  feed.start(stopping.signal);
  feed.onChange((isNews) => {
    finder.forget();
    touch();
    if (isNews) examiner.touch();
  });
  routers?.onChange(() => {
    seen = undefined;
    finder.forget();
    touch();
    examiner.touch();
  });
  const looking = setInterval(look, lookEveryMs);
  looking.unref();
  const { port } = server;
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return {
    url: `http://${host}:${port}/`,
    port,
    state,
    notReady,
    readiness,
    touch,
    async stop() {
      stopping.abort();
      clearInterval(looking);
      clearTimeout(soon);
      feed.stop();
      examiner.stop();
      state.close();
      stream.close();
      await server.close();
    },
  };
}
