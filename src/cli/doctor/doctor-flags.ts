import { type Command, Option } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { printable } from '../../base/printable.ts';
import type { ReadCluster } from '../../cluster/read-cluster.ts';
import { gather } from '../../doctor/gather.ts';
import { type RibDumpFile, readDumps } from '../../doctor/rib/read-dumps.ts';
import { ciliumConfigName, parseCiliumVersion } from '../../model/cilium-config.ts';
import type { StatedSettings } from '../../model/cluster-state.ts';
import { findMode, modeNames, modes } from '../../model/modes.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Evidence } from '../../plan/doctor/evidence.ts';
import type { SeenRouter } from '../../witness/connected-router.ts';
import type { ListenPlan } from '../../witness/listener.ts';
import { readWhole } from '../numbers.ts';
import { ribOption } from '../run/rib-flag.ts';
import { routersListenFlag } from '../run/routers-listen-flag.ts';
import type { Terminal } from '../terminal.ts';
import { contradictions } from '../view/cilium-flags.ts';
import { ciliumOf } from '../view/cilium-of.ts';
import type { NamedCilium } from '../view/cilium-settings.ts';
import { addIpamFlags, type IpamFlagValues, readIpamFlags } from '../view/ipam-flags.ts';
import { addViewFlags, readFilesOf, type ViewFlagValues, withClient } from '../view/view-flags.ts';

/** What doctor and whatif look at; the two take the same flags. */
export type DoctorFlagValues = ViewFlagValues &
  IpamFlagValues & {
    rib?: RibDumpFile[];
    ribVrf?: string;
    listen?: ListenPlan[];
    listenSeconds: string;
    listenRouters?: string;
    kernel?: string | boolean;
    ciliumVersion?: string;
    ciliumNamespace: string;
  };

export function addDoctorFlags(command: Command): Command {
  const flag = (flags: string, description: string) =>
    new Option(flags, description).helpGroup('What to look at:');
  addIpamFlags(addViewFlags(command));
  const ipam = command.options.find(({ long }) => long === '--ipam');
  if (ipam !== undefined) {
    ipam.description = `${modeNames.join(', ')} (default: read off the cluster)`;
  }
  return command
    .addOption(ribOption().helpGroup('What to look at:'))
    .addOption(
      flag(
        '--rib-vrf <name>',
        'the VRF of the nodes in dumps that hold several (default: default)',
      ),
    )
    .addOption(
      flag(
        '--listen <where>',
        'let routers come to us: bmp=ADDRESS:PORT, or bgp=ADDRESS:PORT,as=OURS,peer-as=THEIRS; repeatable',
      ).argParser(routersListenFlag('--listen')),
    )
    .addOption(flag('--listen-seconds <n>', 'how long to listen at most').default('30'))
    .addOption(
      flag('--listen-routers <n>', 'stop when that many routers have sent their whole table'),
    )
    .addOption(flag('--kernel [node]', 'the routes of this machine, which is a node'))
    .addOption(
      flag(
        '--cilium-version <version>',
        'which Cilium runs, where its DaemonSet cannot be seen: 1.11',
      ),
    )
    .addOption(flag('--cilium-namespace <name>', 'the namespace of Cilium').default('kube-system'));
}

/** Flags are judged before anything is read. */
export async function gatherEvidence(
  flags: DoctorFlagValues,
  terminal: Terminal,
): Promise<Evidence> {
  const stated = {
    ...statedByFlags(flags),
    ciliumVersion: readCiliumVersion(flags.ciliumVersion),
  };
  const listening = readListening(flags);
  const cilium = await ciliumOf(flags, terminal);
  const cluster = withCilium(await readEvidence(flags, terminal), cilium);
  const line = cilium && contradictions(flags, cilium);
  if (line !== undefined) terminal.say(printable(`warning: ${line}`));
  const nodes = [...(cluster.items.nodes ?? [])];
  requireNodes(nodes);
  for (const { router } of flags.rib ?? []) terminal.doing?.(`reading the dump of ${router}`);
  const files = (flags.rib ?? []).map((file) => ({ ...file, vrf: flags.ribVrf }));
  const dumps = await readDumps(files, terminal);
  terminal.doing?.('comparing');
  const live = listening === undefined ? [] : await listen(listening, terminal);
  return gather({
    nowMs: terminal.clock.wallMs(),
    cluster,
    stated,
    routers: [...dumps, ...live],
    kernel: await kernelOf(flags.kernel, nodes),
  });
}

/** The settings of --cilium-config in the place of the cilium-config that was found. */
function withCilium(read: ReadCluster, cilium: NamedCilium | undefined): ReadCluster {
  if (cilium === undefined) return read;
  const others = [...(read.items.configMaps ?? [])].filter((one) => one.cilium === undefined);
  const identity = { name: ciliumConfigName, uid: '', resourceVersion: '' };
  const named = { ...identity, namespace: 'kube-system', cilium: cilium.settings };
  return { ...read, items: { ...read.items, configMaps: [...others, named] } };
}

async function readEvidence(flags: DoctorFlagValues, terminal: Terminal): Promise<ReadCluster> {
  if (flags.from !== undefined) return readFilesOf(flags.from, flags, terminal);
  return withClient(flags, terminal, async (client, origin) => {
    const { listEvidence } = await import('../../doctor/list-evidence.ts');
    const read = await listEvidence({
      client,
      origin,
      ciliumNamespace: flags.ciliumNamespace,
      say: (line) => terminal.say(line),
      doing: terminal.doing,
      pause,
    });
    if (flags.verbose) {
      const others = Object.values(read.items).flatMap((items) => [...(items ?? [])]).length;
      terminal.say(`read ${origin}: ${others} objects`);
    }
    return read;
  });
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Nothing to judge: then there is no answer, and it must not look like one. */
export function requireNodes(nodes: readonly ClusterNode[]): void {
  if (nodes.length > 0) return;
  throw new CadastreError(
    'BAD_INPUT',
    'there is no Node in what was given: nothing can be compared',
    { remedy: 'Give the Nodes too: kubectl get nodes,ciliumnodes -o json > cluster.json' },
  );
}

async function kernelOf(flag: string | boolean | undefined, nodes: readonly ClusterNode[]) {
  if (flag === undefined || flag === false) return undefined;
  const { NetlinkKernel } = await import('../../kernel/netlink-kernel.ts');
  const { readLocalKernel } = await import('../../doctor/local-kernel.ts');
  const kernel = new NetlinkKernel({});
  try {
    return await readLocalKernel(kernel, nodes, flag === true ? undefined : flag);
  } finally {
    await kernel.close();
  }
}

interface Listening {
  plans: ListenPlan[];
  seconds: number;
  routers: number | undefined;
}

function readListening(flags: DoctorFlagValues): Listening | undefined {
  const { listen, listenSeconds, listenRouters } = flags;
  const seconds = readWhole('--listen-seconds', listenSeconds, 1, 3600);
  const routers =
    listenRouters === undefined ? undefined : readWhole('--listen-routers', listenRouters, 1, 256);
  return listen === undefined ? undefined : { plans: listen, seconds, routers };
}

async function listen(
  { plans, seconds, routers }: Listening,
  terminal: Terminal,
): Promise<SeenRouter[]> {
  const { listenToRouters } = await import('../../doctor/listen.ts');
  const { stopOnSignals } = await import('../stop-signals.ts');
  const { signal, done } = stopOnSignals();
  try {
    return await listenToRouters({
      plans,
      seconds,
      routers,
      signal,
      say: (line) => terminal.say(line),
      now: () => terminal.clock.monotonicMs(),
      pause,
    });
  } finally {
    done();
  }
}

/** The same flags as the operator's, but none of them is needed: the rest is read off the cluster. */
function statedByFlags(flags: DoctorFlagValues): StatedSettings {
  const stated = findMode(flags.ipam);
  if (flags.ipam !== undefined && stated === undefined) {
    throw new CadastreError('BAD_FLAG', `--ipam=${flags.ipam} is not a mode Cadastre knows`, {
      remedy: `Use one of: ${modeNames.join(', ')}; left out, it is read off the cluster.`,
    });
  }
  const hasRange =
    flags.clusterPoolIpv4Cidr !== undefined || flags.clusterPoolIpv6Cidr !== undefined;
  // A range in flags means that mode; without one the range is cilium-config's.
  const mode = stated ?? (hasRange ? modes['cluster-pool'] : undefined);
  const isPlain = mode === undefined || !mode.isOurs || (mode.pools === 'flags' && !hasRange);
  const { clusterPool, serviceNetworks } = readIpamFlags(
    isPlain ? { serviceCidr: flags.serviceCidr ?? [] } : { ...flags, ipam: mode.name },
  );
  return { mode: mode?.name, clusterPool, serviceNetworks };
}

function readCiliumVersion(text: string | undefined) {
  if (text === undefined) return undefined;
  const version = parseCiliumVersion(text);
  if (version !== undefined) return { ...version, from: '--cilium-version' };
  throw new CadastreError('BAD_FLAG', `--cilium-version=${text} is not a version like 1.11`);
}
