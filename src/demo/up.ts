/**
 * Everything in one process: API server, operator, agents, routers, console. Each
 * part starts after those it needs, and all stop in the opposite order. The console
 * listens before anything that takes time, so that `/readyz` can say what is missing.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startApiServer } from '../apiserver/apiserver.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { shellWord } from '../base/shell-word.ts';
import { type RunningConsole, startConsole } from '../console/console.ts';
import { KubeClient } from '../kube/client.ts';
import { loadKubeConfig } from '../kube/kubeconfig.ts';
import { Demo } from './demo.ts';
import { demoMode, type Site } from './site-plan.ts';
import { StoryPlayer } from './story/story-player.ts';
import { tryItOf } from './try-it.ts';

interface StartUpOptions {
  dataDir: string;
  site: Site;
  nodes?: number | undefined;
  host: string;
  port: number;
  token?: string | undefined;
  podEveryMs?: number | undefined;
  /** How the reader calls this program. */
  program: string;
  version: string;
  clock: Clock;
  log: Log;
  onProgress: (words: string) => void;
}

export interface Up {
  readonly url: string;
  /** What makes an address of the console one that may change the site. */
  readonly changeToken: string;
  readonly kubeconfigPath: string;
  readonly demo: Demo;
  readonly console: RunningConsole;
  notReady(): string | undefined;
  stop(): Promise<void>;
}

export async function startUp(options: StartUpOptions): Promise<Up> {
  const { dataDir, host, port, token, version, clock, log, onProgress } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const undo: Array<() => Promise<void>> = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const api = await startApiServer({ dataDir: join(dataDir, 'api'), host: '127.0.0.1', log });
    undo.push(() => api.stop());
    const access = await loadKubeConfig({ kubeconfig: api.kubeconfigPath });
    const client = new KubeClient(access, { connections: 32, log });
    undo.push(() => client.close());
    const demo = new Demo({
      dataDir,
      client,
      site: options.site,
      nodes: options.nodes,
      clock,
      random: Math.random,
      log,
      version,
      onProgress,
      ...(options.podEveryMs === undefined ? {} : { podEveryMs: options.podEveryMs }),
    });
    const story = new StoryPlayer({ dataDir: join(dataDir, 'story'), clock, log, version });
    const tryIt = tryItOf(demo, story);
    let isStarted = false;
    const notStarted = () => (isStarted ? demo.notReady() : 'the site is being created');
    const running = await startConsole({
      client,
      listen: { host, port },
      token,
      about: {
        title: 'cadastre up',
        version,
        cluster: 'embedded',
        mode: demoMode.name,
        program: options.program,
        commandFlags: `--kubeconfig ${shellWord(api.kubeconfigPath)}`,
      },
      stated: { mode: demoMode.name },
      routers: { views: () => demo.routers(), onChange: (listener) => demo.onChange(listener) },
      tryIt,
      story,
      otherPods: () => demo.pods(),
      notReady: notStarted,
      metrics: demo.metrics,
      clock,
      log,
    });
    undo.push(() => running.stop());
    undo.push(() => demo.stop());
    undo.push(() => story.stop());
    await demo.start();
    isStarted = true;
    return {
      url: running.url,
      changeToken: tryIt.changeToken,
      kubeconfigPath: api.kubeconfigPath,
      demo,
      console: running,
      notReady: running.notReady,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
