import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { CadastreError, describeError } from '../../base/errors.ts';
import { addHealthRoutes } from '../../base/health-routes.ts';
import { HttpServer } from '../../base/http-server.ts';
import { jsonLog, type LogLevel, logLevels } from '../../base/json-log.ts';
import type { Log } from '../../base/log.ts';
import { Metrics } from '../../base/metrics.ts';
import { registerProcessMetrics } from '../../base/process-metrics.ts';
import type { RunningConsole } from '../../console/console.ts';
import type { KubeAccess } from '../../kube/access.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import { checkTimings } from '../../kube/lease-timings.ts';
import { defaultMode, type ProjectionName, projectionNames } from '../../model/modes.ts';
import { assembleOperator } from '../../operator/assemble-operator.ts';
import { type ReportBelief, reportBeliefs } from '../../operator/attribution-watch.ts';
import {
  type CrdManagement,
  crdManagements,
  type OperatorSettings,
  operatorDefaults,
  operatorSettings,
  statedByOperator,
} from '../../operator/operator-settings.ts';
import { Shadow } from '../../operator/shadow.ts';
import type { ListenPlan } from '../../witness/listener.ts';
import type { Witness } from '../../witness/witness.ts';
import { readSeconds, readWhole } from '../numbers.ts';
import { stopOnSignals } from '../stop-signals.ts';
import { readVersion } from '../version.ts';
import { contradictions, flagsOfCilium } from '../view/cilium-flags.ts';
import { ciliumAt, readCiliumSource } from '../view/cilium-settings.ts';
import { addIpamFlags, type IpamFlagValues, readIpamFlags } from '../view/ipam-flags.ts';
import { readConfigMapName } from './config-map-flag.ts';
import { readConsoleToken } from './console-flags.ts';
import { readListen } from './listen-flag.ts';
import { switchLevelOnSignal } from './log-level-signal.ts';
import { consoleRouters, startWitness, witnessOption } from './witness-flag.ts';

/**
 * `cadastre operator`: wires the world to the operator once, and takes it apart
 * on SIGTERM or SIGINT. A second signal ends the process at once.
 */
export function registerOperator(program: Command): void {
  const { lease, intervals, concurrency, settleAfterRestoreMs, believeReports, crds } =
    operatorDefaults;
  const command = program
    .command('operator')
    .description('give every node its blocks; run several replicas, one leads')
    .option('--kubeconfig <file>', 'the cluster (default: $KUBECONFIG, the pod, ~/.kube/config)')
    .option('--context <name>', 'the context of the kubeconfig');
  addIpamFlags(command, defaultMode.name);
  command
    .addOption(
      new Option(
        '--project <targets>',
        `where blocks are copied to: ${projectionNames.join(', ')}, or none (default: by mode)`,
      ).argParser((text: string) => text.split(',').map((part) => part.trim())),
    )
    .option('--bgp-config-map <namespace/name>', 'address-pools in the form of MetalLB and Cilium')
    .addOption(
      new Option(
        '--crds <how>',
        'the resource definitions: manage (register them, and upgrade them in place), or await (whoever installs this does)',
      )
        .choices([...crdManagements])
        .default(crds),
    )
    .option('--lease-namespace <name>', 'namespace of the leader lease', lease.namespace)
    .option('--lease-name <name>', 'name of the leader lease', lease.name)
    .option(
      '--lease-duration <seconds>',
      'others take over so long after the last renewal',
      `${lease.timings.leaseDurationSeconds}`,
    )
    .option(
      '--renew-deadline <seconds>',
      'a leader trusts itself so long after its last renewal',
      `${lease.timings.renewDeadlineSeconds}`,
    )
    .option(
      '--retry-period <seconds>',
      'how often a leader renews',
      `${lease.timings.retryPeriodSeconds}`,
    )
    .option('--shadow', 'only say what an operator would do (log, /shadow, metrics); write nothing')
    .option(
      '--drift-every <seconds>',
      'between two comparisons of what is allocated, used and announced; 0: none',
      `${intervals.driftMs / 1000}`,
    )
    .option(
      '--settle-after-restore <seconds>',
      'how long agents are waited for after a restore of etcd, before new blocks are cut',
      `${settleAfterRestoreMs / 1000}`,
    )
    .addOption(
      new Option(
        '--believe-reports <which>',
        'whose report may release a block: attributed (the admission policy of deploy/agent.yaml binds agents to their nodes), or all',
      )
        .choices([...reportBeliefs])
        .default(believeReports),
    )
    .addOption(witnessOption())
    .option('--identity <name>', 'name of this replica (default: host name and process id)')
    .option('--concurrency <n>', 'writes under way at once', `${concurrency}`)
    .option('--listen <address>', 'where /metrics, /livez and /readyz are served', '127.0.0.1:9470')
    .option('--console <address>', 'serve the console there too, like 127.0.0.1:7077')
    .option('--console-token-file <file>', 'a secret its readers must know; a must beyond loopback')
    .addOption(new Option('--log-level <level>').choices([...logLevels]).default('info'))
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre operator
  $ cadastre operator --ipam cluster-pool --cluster-pool-ipv4-cidr 10.5.112.0/21
  $ cadastre operator --cilium-config
  $ cadastre operator --project annotations,node-spec --listen 0.0.0.0:9470
  $ cadastre operator --witness bmp=0.0.0.0:11019
  $ cadastre operator --shadow        # in another terminal: curl -s 127.0.0.1:9470/shadow`,
    )
    .action((flags: OperatorFlags) => runOperator(flags));
}

const aDay = 86_400;

interface OperatorFlags extends IpamFlagValues {
  shadow?: boolean;
  kubeconfig?: string;
  context?: string;
  project?: string[];
  bgpConfigMap?: string;
  crds: CrdManagement;
  leaseNamespace: string;
  leaseName: string;
  leaseDuration: string;
  renewDeadline: string;
  retryPeriod: string;
  driftEvery: string;
  settleAfterRestore: string;
  believeReports: ReportBelief;
  witness?: ListenPlan[];
  identity?: string;
  concurrency: string;
  listen: string;
  console?: string;
  consoleTokenFile?: string;
  logLevel: LogLevel;
}

async function runOperator(flags: OperatorFlags): Promise<void> {
  // On a large machine V8 lets its nursery grow to 64 MB and more, for no gain
  // here: with 10,000 nodes 308 MB resident became 174 MB, at a tenth more CPU.
  setFlagsFromString('--semi-space-growth-factor=1');
  const log = jsonLog({ level: flags.logLevel, fields: { component: 'operator' } });
  const filled = await withCilium(flags, log);
  const settings = readSettings(filled);
  const listenAt = readListen(flags.listen);
  const consoleAt = flags.console === undefined ? undefined : readListen(flags.console);
  const token =
    consoleAt && readConsoleToken(consoleAt, flags.consoleTokenFile, '--console-token-file');
  const access = await loadKubeConfig(flags);
  const metrics = new Metrics();
  const stopProcessMetrics = registerProcessMetrics(metrics, readVersion());
  const { concurrency } = settings;
  const client = new KubeClient(access, { connections: concurrency, metrics, log });
  const witness = await startWitness(flags.witness, log, metrics);
  const base = { client, settings, log, metrics };
  const operator =
    flags.shadow === true ? new Shadow(base) : assembleOperator({ ...base, witness });
  const server = new HttpServer({ log });
  addHealthRoutes(server, { metrics, ready: operator.readiness });
  if (operator instanceof Shadow) {
    server.on('GET', '/shadow', () => ({ body: operator.report ?? {} }));
  }
  await server.listen(listenAt);
  const running =
    consoleAt && (await serveConsole(consoleAt, token, { client, access, settings, log, witness }));
  const stopping = stopOnSignals();
  const stopSwitching = switchLevelOnSignal(log);
  const { mode, cluster } = { mode: settings.mode.name, cluster: access.origin };
  log.info({ mode, cluster, port: server.port, identity: settings.lease.identity }, 'starting');
  try {
    await operator.run(stopping.signal);
    log.info({}, 'stopped');
  } catch (error) {
    log.error({ error: describeError(error) }, 'the operator failed');
    throw error;
  } finally {
    stopSwitching();
    stopProcessMetrics();
    await running?.stop();
    await witness?.close();
    await server.close();
    await client.close();
    stopping.done();
  }
}

/** Once, at the start: who changes Cilium's mode or CIDRs restarts the operator too. */
async function withCilium(flags: OperatorFlags, log: Log): Promise<OperatorFlags> {
  if (flags.ciliumConfig === undefined) return flags;
  const cilium = await ciliumAt(readCiliumSource(flags.ciliumConfig), async (use) => {
    const client = new KubeClient(await loadKubeConfig(flags), { log });
    return use(client).finally(() => client.close());
  });
  const filled = { ...flags, ...flagsOfCilium(flags, cilium) };
  const line = contradictions(flags, cilium);
  if (line !== undefined) log.warn({}, line);
  const { ipam, clusterPoolIpv4Cidr, clusterPoolIpv6Cidr } = filled;
  log.info(
    {
      path: cilium.where,
      mode: ipam,
      settings: { ipv4: clusterPoolIpv4Cidr, ipv6: clusterPoolIpv6Cidr },
    },
    'settings of Cilium',
  );
  return filled;
}

/** Loaded only where it is wanted: it follows everything the operator does, and more. */
async function serveConsole(
  listen: { host: string; port: number },
  token: string | undefined,
  parts: {
    client: KubeClient;
    access: KubeAccess;
    settings: OperatorSettings;
    log: Log;
    witness: Witness | undefined;
  },
): Promise<RunningConsole> {
  const { startConsole } = await import('../../console/console.ts');
  const { client, access, settings, log, witness } = parts;
  const about = {
    title: 'Cadastre',
    version: readVersion(),
    cluster: access.origin,
    mode: settings.mode.name,
    commandFlags: '',
  };
  const stated = statedByOperator(settings);
  const clock = systemClock;
  const routers = await consoleRouters(witness);
  const running = await startConsole({
    ...{ client, listen, token, about, stated, routers, clock, log },
  });
  log.info({ address: running.url }, 'console listening');
  return running;
}

function readSettings(flags: OperatorFlags): OperatorSettings {
  const { mode, ...ipam } = readIpamFlags(flags);
  const timings = {
    leaseDurationSeconds: readSeconds('--lease-duration', flags.leaseDuration, 0, aDay),
    renewDeadlineSeconds: readSeconds('--renew-deadline', flags.renewDeadline, 0, aDay),
    retryPeriodSeconds: readSeconds('--retry-period', flags.retryPeriod, 0, aDay),
  };
  checkTimings(timings);
  return operatorSettings(mode, flags.identity ?? `${hostname()}_${process.pid}`, {
    ...ipam,
    version: readVersion(),
    projections: readProjections(flags.project),
    lease: { namespace: flags.leaseNamespace, name: flags.leaseName, timings },
    configMap: readConfigMapName(flags.bgpConfigMap),
    crds: flags.crds,
    believeReports: flags.believeReports,
    intervals: { driftMs: readSeconds('--drift-every', flags.driftEvery, 0, aDay) * 1000 },
    settleAfterRestoreMs:
      readSeconds('--settle-after-restore', flags.settleAfterRestore, 0, aDay) * 1000,
    concurrency: readWhole('--concurrency', flags.concurrency, 1, 1024),
  });
}

/** Undefined: those of the mode. */
function readProjections(given: string[] | undefined): ProjectionName[] | undefined {
  if (given === undefined) return undefined;
  if (given.length === 1 && given[0] === 'none') return [];
  return given.map((word) => {
    const known = projectionNames.find((name) => name === word);
    if (known !== undefined) return known;
    throw new CadastreError(
      'BAD_FLAG',
      `--project=${given.join(',')} has "${word}", which is no projection`,
      {
        remedy: `Use ${projectionNames.join(', ')}, several of them separated by commas, or none.`,
      },
    );
  });
}
