import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { addHealthRoutes } from '../../base/health-routes.ts';
import { HttpServer } from '../../base/http-server.ts';
import { jsonLog, type LogLevel, logLevels } from '../../base/json-log.ts';
import { Metrics } from '../../base/metrics.ts';
import { registerProcessMetrics } from '../../base/process-metrics.ts';
import { shellWord } from '../../base/shell-word.ts';
import { startConsole } from '../../console/console.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import type { ListenPlan } from '../../witness/listener.ts';
import { programName } from '../program-name.ts';
import { aborted, stopOnSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import { readConsoleToken } from './console-flags.ts';
import { readListen } from './listen-flag.ts';
import { consoleRouters, startWitness, witnessOption } from './witness-flag.ts';

interface ConsoleFlags {
  kubeconfig?: string;
  context?: string;
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
    .description('look at a cluster in the browser; changes nothing')
    .option('--kubeconfig <file>', 'the cluster (default: $KUBECONFIG, the pod, ~/.kube/config)')
    .option('--context <name>', 'the context of the kubeconfig')
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
  $ cadastre console --witness bmp=0.0.0.0:11019`,
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
  const { kubeconfig, context } = flags;
  const access = await loadKubeConfig(flags);
  const log = jsonLog({ level: flags.logLevel, fields: { component: 'console' } });
  const metrics = new Metrics();
  const stopProcessMetrics = registerProcessMetrics(metrics, readVersion());
  const client = new KubeClient(access, { connections: 8, metrics, log });
  const witness = await startWitness(flags.witness, log, metrics);
  const stopping = stopOnSignals();
  const flag = (name: string, value?: string) =>
    value === undefined ? [] : [`--${name} ${shellWord(value)}`];
  const running = await startConsole({
    client,
    listen,
    token,
    about: {
      title: 'Cadastre',
      version: readVersion(),
      cluster: access.origin,
      mode: '',
      program: programName(),
      commandFlags: [...flag('kubeconfig', kubeconfig), ...flag('context', context)].join(' '),
    },
    routers: witness && (await consoleRouters(witness)),
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
    terminal.say(`the console of ${access.origin} is on ${running.url}`);
    if (token !== undefined)
      terminal.say(`open it with ?token= and the secret of ${flags.tokenFile}`);
    terminal.say('Ctrl-C ends it');
    await aborted(stopping.signal);
  } finally {
    stopProcessMetrics();
    await server.close();
    await running.stop();
    await witness?.close();
    await client.close();
    stopping.done();
  }
}
