import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { addHealthRoutes } from '../../base/health-routes.ts';
import { HttpServer } from '../../base/http-server.ts';
import { jsonLog, type LogLevel, logLevels } from '../../base/json-log.ts';
import type { Log } from '../../base/log.ts';
import { Metrics } from '../../base/metrics.ts';
import { registerProcessMetrics } from '../../base/process-metrics.ts';
import { shellWord } from '../../base/shell-word.ts';
import type { ReadCluster } from '../../cluster/read-cluster.ts';
import { startConsole } from '../../console/console.ts';
import { type RibDumpFile, readDumps } from '../../doctor/rib/read-dumps.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import type { ListenPlan } from '../../witness/listener.ts';
import { requireNodes } from '../doctor/doctor-flags.ts';
import { programName } from '../program-name.ts';
import { aborted, stopOnSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import { type ClusterFlags, fromOption, readFilesOf } from '../view/view-flags.ts';
import { readConsoleToken } from './console-flags.ts';
import { readListen } from './listen-flag.ts';
import { switchLevelOnSignal } from './log-level-signal.ts';
import { ribOption } from './rib-flag.ts';
import { consoleRouters, startWitness, witnessOption } from './witness-flag.ts';

interface ConsoleFlags extends ClusterFlags {
  rib?: RibDumpFile[];
  listen: string;
  tokenFile?: string;
  metricsListen?: string;
  witness?: ListenPlan[];
  logLevel: LogLevel;
}

/** `cadastre console`: the console for any cluster, from anywhere that reaches its API server. */
export function registerConsole(program: Command, terminal: Terminal): void {
  program
    .command('console')
    .description('look at a cluster, or at files, in the browser; changes nothing')
    .addOption(fromOption())
    .option('--kubeconfig <file>', 'the cluster (default: $KUBECONFIG, the pod, ~/.kube/config)')
    .option('--context <name>', 'the context of the kubeconfig')
    .addOption(ribOption())
    .option('--listen <address>', 'where the console is served', '127.0.0.1:7077')
    .option('--token-file <file>', 'a secret that readers must know; a must beyond loopback')
    .option(
      '--metrics-listen <address>',
      'serve /metrics, /livez and /readyz there too, without the token, like 0.0.0.0:9472',
    )
    .addOption(witnessOption())
    .addOption(new Option('--log-level <level>').choices([...logLevels]).default('warn'))
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre console
  $ cadastre console --kubeconfig prod.kubeconfig --listen 127.0.0.1:8080
  $ cadastre console --listen 0.0.0.0:7077 --token-file secret
  $ cadastre console --witness bmp=0.0.0.0:11019

  Files that somebody sent, without a cluster:
    $ cadastre console --from cluster.json --rib tor1=tor1.json --rib tor2=tor2.txt`,
    )
    .action((flags: ConsoleFlags) => runConsole(flags, terminal));
}

async function runConsole(flags: ConsoleFlags, terminal: Terminal): Promise<void> {
  const listen = readListen(flags.listen);
  const metricsAt =
    flags.metricsListen === undefined
      ? undefined
      : readListen(flags.metricsListen, '--metrics-listen');
  const token = readConsoleToken(listen, flags.tokenFile, '--token-file');
  const log = jsonLog({ level: flags.logLevel, fields: { component: 'console' } });
  const metrics = new Metrics();
  const stopProcessMetrics = registerProcessMetrics(metrics, readVersion());
  const looked = await lookedAt(flags, terminal, { log, metrics });
  const dumps = await readDumps(flags.rib ?? [], terminal);
  const witness = await startWitness(flags.witness, log, metrics);
  const stopping = stopOnSignals();
  const stopSwitching = switchLevelOnSignal(log);
  const running = await startConsole({
    client: looked.client,
    listen,
    token,
    about: {
      title: 'Cadastre',
      version: readVersion(),
      cluster: looked.origin,
      mode: '',
      program: programName(),
      commandFlags: looked.commandFlags,
    },
    routers: await consoleRouters(witness, dumps),
    metrics,
    clock: systemClock,
    log,
  });
  const server = new HttpServer({ log });
  if (metricsAt !== undefined) {
    addHealthRoutes(server, { metrics, ready: running.readiness });
    await server.listen(metricsAt);
  }
  try {
    terminal.say(`the console of ${looked.origin} is on ${running.url}`);
    if (token !== undefined)
      terminal.say(`open it with ?token= and the secret of ${flags.tokenFile}`);
    terminal.say('Ctrl-C ends it');
    await aborted(stopping.signal);
  } finally {
    stopSwitching();
    stopProcessMetrics();
    await server.close();
    await running.stop();
    await witness?.close();
    await looked.close();
    stopping.done();
  }
}

interface Looked {
  client: KubeClient | ReadCluster;
  origin: string;
  /** How a command names the same cluster or files. */
  commandFlags: string;
  close(): Promise<void>;
}

/** Files are read once, before anything is served: what is wrong with them is said at once. */
async function lookedAt(
  flags: ConsoleFlags,
  terminal: Terminal,
  parts: { log: Log; metrics: Metrics },
): Promise<Looked> {
  const { from, kubeconfig, context } = flags;
  const flag = (name: string, value?: string) =>
    value === undefined ? [] : [`--${name} ${shellWord(value)}`];
  if (from !== undefined) {
    const read = await readFilesOf(from, flags, terminal);
    requireNodes([...(read.items.nodes ?? [])]);
    const commandFlags = from.flatMap((path) => flag('from', path)).join(' ');
    return { client: read, origin: from.join(', '), commandFlags, close: async () => {} };
  }
  const access = await loadKubeConfig(flags);
  const client = new KubeClient(access, { connections: 8, ...parts });
  const commandFlags = [...flag('kubeconfig', kubeconfig), ...flag('context', context)].join(' ');
  return { client, origin: access.origin, commandFlags, close: () => client.close() };
}
