import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { AgentScope, AgentSettings } from '../../agent/agent-settings.ts';
import { assembleAgent } from '../../agent/assemble-agent.ts';
import { readMachineId } from '../../agent/machine-id.ts';
import { tunnelDeviceOf } from '../../agent/route-reconciler.ts';
import { systemClock } from '../../base/clock.ts';
import { CadastreError, describeError } from '../../base/errors.ts';
import { addHealthRoutes } from '../../base/health-routes.ts';
import { HttpServer } from '../../base/http-server.ts';
import { realFiles } from '../../base/journal/durable-files.ts';
import { jsonLog, type LogLevel, logLevels } from '../../base/json-log.ts';
import { Metrics } from '../../base/metrics.ts';
import { registerProcessMetrics } from '../../base/process-metrics.ts';
import { fileFault, readTextFile } from '../../base/text-file.ts';
import { Speaker } from '../../bgp/speaker/speaker.ts';
import type { ListenTarget } from '../../bgp/transport/listen.ts';
import { giveBackFreedMemory } from '../../kernel/freed-memory.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { procSysNet } from '../../kernel/netlink/settings.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import { type BgpConfig, loadConfigMap } from '../../model/bgp-config-map.ts';
import { agentSocketPath } from '../../model/keys.ts';
import { poolsOfConfig } from '../../model/load-balancer-pool.ts';
import { defaultMode, modeOfFlag, ourModes } from '../../model/modes.ts';
import { type Family, families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { encapsulationOf, type Routing, routings } from '../../plan/node/desired-routes.ts';
import { cordonChoices, type OnCordon } from '../../plan/node/leaving.ts';
import { RestartMark } from '../bgp/bgp-speak-evidence.ts';
import { stopOnSignals } from '../stop-signals.ts';
import { readSwitch } from '../switch-flag.ts';
import { readVersion } from '../version.ts';
import { kernelNames, openKernel } from './agent-kernel.ts';
import { readConfigMapName } from './config-map-flag.ts';
import { readListen } from './listen-flag.ts';

/**
 * `cadastre agent`: passes this machine to the agent. SIGTERM and SIGINT end it for
 * a restart, and leave routes and pods as they are; SIGUSR2 ends it for good, and
 * withdraws the routes first.
 */
export function registerAgent(program: Command): void {
  const modes = ourModes.map(({ name }) => name);
  const list = (text: string, before: string[] | undefined) => [...(before ?? []), text];
  program
    .command('agent')
    .description("serve one node: pod addresses, routes and announcements out of the node's blocks")
    .option('--kubeconfig <file>', 'the cluster (default: $KUBECONFIG, the pod, ~/.kube/config)')
    .option('--context <name>', 'the context of the kubeconfig')
    .option('--node-name <name>', 'the Node this is (default: $NODE_NAME, the host name)')
    .option('--ipam <mode>', `as the operator has it: ${modes.join(', ')}`, defaultMode.name)
    .option(
      '--families <list>',
      'address families of every pod: ipv4,ipv6 (default: those of the node)',
    )
    .option(
      '--pre-allocate <n>',
      'cluster-pool-v2: addresses kept ready; never so few that the node counts as full',
      '8',
    )
    .option(
      '--wiring [boolean]',
      'interfaces of pods, routes and masquerade (default: true); false: addresses for another CNI plugin',
    )
    .option(
      '--announce-only',
      'announce the blocks and Services; addresses and kernel are left to another program',
    )
    .option('--reserved <cidr>', 'a range inside the blocks that no pod gets; repeatable', list)
    .addOption(
      new Option('--routing <mode>', 'how packets reach the pods of other nodes')
        .choices([...routings])
        .default('native'),
    )
    .option('--auto-direct-node-routes', 'native: routes to the nodes on the same link')
    .option(
      '--masquerade [boolean]',
      'traffic of pods out of the cluster takes the address of the node (default: true)',
    )
    .option(
      '--masquerade-except <cidr>',
      "destinations that see a pod's own address; repeatable (pods and nodes always do)",
      list,
    )
    .option('--bgp-config <file>', 'peers and pools from a file, in the form of MetalLB and Cilium')
    .option('--bgp-config-map <namespace/name>', 'peers and pools from a ConfigMap of that form')
    .option('--bgp-listen <address:port>', 'accept BGP sessions there (default: only connect)')
    .option('--socket <path>', 'the Unix socket of the CNI plugin', agentSocketPath)
    .option('--state-dir <path>', 'what survives a restart', '/var/lib/cadastre')
    .option('--api-grace <seconds>', 'wait for the API server before using the state on disk', '5')
    .option(
      '--reconfirm-after <seconds>',
      'after so long without a router, announce blocks only when they are confirmed',
      '150',
    )
    .option(
      '--drain-grace <seconds>',
      'between GRACEFUL_SHUTDOWN and the withdrawal of routes',
      '5',
    )
    .addOption(
      new Option(
        '--on-cordon <what>',
        'what a cordoned node withdraws while it has pods: the addresses of Services, its blocks too, or nothing',
      )
        .choices([...cordonChoices])
        .default('services'),
    )
    .option('--taint-when-full', 'taint the Node (NoSchedule) while it has no free pod address')
    .option('--listen <address>', 'where /metrics, /livez and /readyz are served', '127.0.0.1:9471')
    .addOption(
      new Option('--kernel <name>', 'netlink: that of this machine; fake: one in memory, for demos')
        .choices([...kernelNames])
        .default('netlink'),
    )
    .option('--netns <path>', "the node's network namespace (default: where the agent runs)")
    .option(
      '--proc-sys-net <folder>',
      'where /proc/sys/net can be written, in a container that is not privileged',
      procSysNet,
    )
    .option(
      '--fake-uplink <link=cidr>',
      'fake: an interface, like eth0=10.4.94.32/24; repeatable',
      list,
    )
    .addOption(new Option('--log-level <level>').choices([...logLevels]).default('info'))
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre agent --node-name node1 --auto-direct-node-routes
  $ cadastre agent --masquerade-except 10.0.0.0/8    # networks that have routes to pods
  $ cadastre agent --routing vxlan-across-subnets --bgp-config-map kube-system/bgp-config
  $ cadastre agent --announce-only                   # beside Cilium's data path
  $ cadastre agent --wiring=false                    # IPAM plugin of another CNI plugin
  $ cadastre status                                  # what it does, from the same machine`,
    )
    .action((flags: AgentFlags, command: Command) => runAgent(flags, givenFlags(command)));
}

interface AgentFlags {
  kubeconfig?: string;
  context?: string;
  nodeName?: string;
  ipam: string;
  families?: string;
  preAllocate: string;
  wiring?: boolean | string;
  announceOnly?: boolean;
  reserved?: string[];
  routing: Routing;
  autoDirectNodeRoutes?: boolean;
  masquerade?: boolean | string;
  masqueradeExcept?: string[];
  bgpConfig?: string;
  bgpConfigMap?: string;
  bgpListen?: string;
  socket: string;
  stateDir: string;
  apiGrace: string;
  reconfirmAfter: string;
  drainGrace: string;
  onCordon: OnCordon;
  taintWhenFull?: boolean;
  listen: string;
  kernel: (typeof kernelNames)[number];
  netns?: string;
  procSysNet: string;
  fakeUplink?: string[];
  logLevel: LogLevel;
}

async function runAgent(flags: AgentFlags, given: readonly string[]): Promise<void> {
  const settings = readSettings(flags, given);
  const listenAt = readListen(flags.listen);
  const access = await loadKubeConfig(flags);
  const log = jsonLog({ level: flags.logLevel, fields: { component: 'agent' } });
  const clock = systemClock;
  const metrics = new Metrics();
  const stopProcessMetrics = registerProcessMetrics(metrics, readVersion());
  const stopGivingBack = giveBackFreedMemory();
  const client = new KubeClient(access, { connections: 8, metrics, log });
  const kernel = openKernel(flags.kernel, flags.fakeUplink ?? [], flags.stateDir, {
    netnsPath: flags.netns,
    procSysNet: flags.procSysNet,
  });
  if (settings.scope === 'node') await assertTunnel(kernel, flags.routing);
  const mark = new RestartMark(join(flags.stateDir, 'alive'));
  const startedMs = clock.monotonicMs();
  const wasAliveMs = startedMs - mark.aliveAgoMs(clock.wallMs());
  const agent = await assembleAgent(
    {
      client,
      kernel,
      machine: await readMachineId(flags.stateDir),
      openSpeaker: (options) => new Speaker(options),
      // RFC 4724 §4.1: after the restart time a router does not keep our routes any more.
      hasRestarted: (restartSeconds) => clock.monotonicMs() - wasAliveMs <= restartSeconds * 1000,
      files: realFiles,
      clock,
      random: Math.random,
      log,
      logLevel: log,
      metrics,
    },
    settings,
  );
  // A kill -9 leaves a mark as old as this; together with the start it must fit the restart time.
  mark.keepYoung(2_000);
  const server = new HttpServer({ log });
  addHealthRoutes(server, { metrics, ready: agent.readiness });
  await server.listen(listenAt);
  const stopping = stopOnSignals();
  const drain = new AbortController();
  const onDrain = () => drain.abort();
  process.once('SIGUSR2', onDrain);
  const exit = () => (drain.signal.aborted ? 'drain' : 'restart');
  const { nodeName, routing, scope } = settings;
  const settingsText = { scope, routing, socket: flags.socket };
  log.info(
    {
      node: nodeName,
      mode: flags.ipam,
      cluster: access.origin,
      port: server.port,
      settings: settingsText,
    },
    'starting',
  );
  try {
    await agent.run(AbortSignal.any([stopping.signal, drain.signal]), exit);
    log.info({}, 'stopped');
  } catch (error) {
    log.error({ error: describeError(error) }, 'the agent failed');
    throw error;
  } finally {
    process.off('SIGUSR2', onDrain);
    mark.stop(exit());
    stopGivingBack();
    stopProcessMetrics();
    await server.close();
    await agent.close();
    await client.close();
    kernel.close();
    stopping.done();
  }
}

/** Before anything is served: a node that cannot reach other nodes' pods must not get any. */
async function assertTunnel(kernel: Kernel, routing: Routing): Promise<void> {
  const kind = encapsulationOf(routing);
  const device = tunnelDeviceOf(routing);
  if (kind === undefined || (await kernel.link(device)) !== undefined) return;
  await kernel.createTunnel({ kind, name: device });
  await kernel.deleteLink(device);
}

/** The flags that somebody has typed, by their names in `AgentFlags`. */
function givenFlags(command: Command): string[] {
  return Object.keys(command.opts()).filter((name) => command.getOptionValueSource(name) === 'cli');
}

/** What an agent of less scope does not do, and so cannot be told how to do. */
const ofKernel = ['routing', 'autoDirectNodeRoutes', 'masqueradeExcept', 'procSysNet'];
const ofAddresses = ['reserved', 'preAllocate', 'taintWhenFull', 'families'];

function readScope(flags: AgentFlags, given: readonly string[]): AgentScope {
  const wiring = readSwitch('--wiring', flags.wiring);
  const refuse = (flag: string, beside: string) => {
    throw new CadastreError('BAD_FLAG', `${flag} has no meaning with ${beside}`);
  };
  const scope = flags.announceOnly ? 'announcements' : wiring === false ? 'addresses' : 'node';
  if (scope === 'node') return scope;
  const beside = flags.announceOnly ? '--announce-only' : '--wiring=false';
  if (flags.announceOnly && wiring) refuse('--wiring', beside);
  if (readSwitch('--masquerade', flags.masquerade)) refuse('--masquerade', beside);
  const idle = flags.announceOnly ? [...ofKernel, ...ofAddresses] : ofKernel;
  const name = idle.find((one) => given.includes(one));
  if (name !== undefined) {
    refuse(`--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, beside);
  }
  return scope;
}

function readSettings(flags: AgentFlags, given: readonly string[]): AgentSettings {
  const mode = modeOfFlag(flags.ipam);
  const scope = readScope(flags, given);
  const nodeName = flags.nodeName ?? process.env.NODE_NAME ?? hostname();
  const config = flags.bgpConfig === undefined ? undefined : readConfigFile(flags.bgpConfig);
  return {
    nodeName: nodeName.toLowerCase(),
    version: readVersion(),
    scope,
    rules: {
      source: mode.allocates ? 'register' : 'node',
      families: readFamilies(flags.families),
    },
    // By demand of pods, which only who gives them addresses can know.
    byDemand: mode.byDemand && scope !== 'announcements',
    preAllocate: readNumber('--pre-allocate', flags.preAllocate, 65536),
    routing: flags.routing,
    directRoutes: flags.autoDirectNodeRoutes ?? false,
    reserved: (flags.reserved ?? []).map((text) => readCidr('--reserved', text)),
    ...(scope === 'node' ? readMasquerade(flags) : {}),
    configMap: readConfigMapName(flags.bgpConfigMap),
    filePeers: config?.peers ?? [],
    filePools: config === undefined ? [] : poolsOfConfig(config),
    stateFolder: flags.stateDir,
    socketPath: flags.socket,
    bgpListen: readBgpListen(flags.bgpListen),
    apiGraceMs: readNumber('--api-grace', flags.apiGrace, 3600) * 1000,
    reportEveryMs: 5_000,
    reconfirmAfterMs: readNumber('--reconfirm-after', flags.reconfirmAfter, 86_400) * 1000,
    drainGraceMs: readNumber('--drain-grace', flags.drainGrace, 3600) * 1000,
    onCordon: flags.onCordon,
    taintWhenFull: flags.taintWhenFull ?? false,
  };
}

function readFamilies(text: string | undefined): ReadonlySet<Family> | 'auto' {
  if (text === undefined) return 'auto';
  const chosen = text.split(',').map((part) => part.trim());
  const known = families.filter((family) => chosen.includes(family));
  if (known.length === chosen.length) return new Set(known);
  throw new CadastreError('BAD_FLAG', `--families=${text} is not a list of ipv4 and ipv6`);
}

function readMasquerade(flags: AgentFlags): Pick<AgentSettings, 'masqueradeExceptions'> {
  const { masqueradeExcept = [] } = flags;
  const masquerade = readSwitch('--masquerade', flags.masquerade) ?? true;
  if (!masquerade && masqueradeExcept.length > 0) {
    throw new CadastreError(
      'BAD_FLAG',
      `--masquerade-except=${masqueradeExcept[0]} has no meaning with --masquerade=false`,
    );
  }
  if (!masquerade) return {};
  return {
    masqueradeExceptions: masqueradeExcept.map((text) => readCidr('--masquerade-except', text)),
  };
}

function readCidr(flag: string, text: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix !== undefined) return prefix;
  throw new CadastreError('BAD_FLAG', `${flag}=${text} is not a CIDR`);
}

function readNumber(flag: string, text: string, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= most) return value;
  throw new CadastreError('BAD_FLAG', `${flag}=${text} is not a number from 0 to ${most}`);
}

function readConfigFile(path: string): BgpConfig {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (cause) {
    throw new CadastreError(
      'BAD_FLAG',
      `--bgp-config=${path} cannot be read: ${fileFault(cause)}`,
      {
        cause,
      },
    );
  }
  const result = loadConfigMap(text);
  if (result.kind === 'config') return result.config;
  const problems = result.problems.map(({ line, key, sentence }) =>
    [`${path}:${line}`, key, sentence].filter((part) => part !== '').join(': '),
  );
  throw new CadastreError('BAD_INPUT', problems.join('; '));
}

function readBgpListen(text: string | undefined): ListenTarget | false {
  if (text === undefined) return false;
  const { host, port } = readListen(text);
  return { address: host, port };
}
