import { type Command, Option } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { assemble } from '../../doctor/assemble.ts';
import type { ListenPlan } from '../../doctor/listen.ts';
import { parseCiliumVersion } from '../../model/cilium-config.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { ClusterNode } from '../../model/node.ts';
import { type Evidence, type Mode, modes } from '../../plan/doctor/evidence.ts';
import { readListenFlag } from '../run/routers-listen-flag.ts';
import type { Terminal } from '../terminal.ts';
import { addIpamFlags, type IpamFlagValues, readIpamFlags } from '../view/ipam-flags.ts';
import { addViewFlags, type ViewFlagValues } from '../view/view-flags.ts';
import { readObjects, requireNodes } from './doctor-objects.ts';
import { type RibFlag, readRibFlag, readRibs, type SeenRouter } from './rib-flags.ts';

/** What doctor and whatif look at; the two take the same flags. */
export type DoctorFlagValues = ViewFlagValues &
  IpamFlagValues & {
    rib?: RibFlag[];
    listen?: ListenPlan[];
    listenSeconds: string;
    listenRouters?: string;
    kernel?: string | boolean;
    ciliumVersion?: string;
    ciliumNamespace: string;
  };

export function addDoctorFlags(command: Command): Command {
  const group = 'What to look at:';
  addIpamFlags(addViewFlags(command));
  const ipam = command.options.find(({ long }) => long === '--ipam');
  if (ipam !== undefined) {
    ipam.description = `${modes.join(', ')} (default: read off the cluster)`;
  }
  return command
    .addOption(
      new Option(
        '--rib <router=file>',
        "a router's own dump, FRR, GoBGP, BIRD or OpenBGPD, recognised by content; repeatable",
      )
        .helpGroup(group)
        .argParser(readRibFlag),
    )
    .addOption(
      new Option(
        '--listen <where>',
        'let routers come to us: bmp=ADDRESS:PORT, or bgp=ADDRESS:PORT,as=OURS,peer-as=THEIRS; repeatable',
      )
        .helpGroup(group)
        .argParser(readListenFlag),
    )
    .addOption(
      new Option('--listen-seconds <n>', 'how long to listen at most')
        .default('30')
        .helpGroup(group),
    )
    .addOption(
      new Option(
        '--listen-routers <n>',
        'stop when so many routers have told everything',
      ).helpGroup(group),
    )
    .addOption(
      new Option('--kernel [node]', 'the routes of this machine, which is a node').helpGroup(group),
    )
    .addOption(
      new Option(
        '--cilium-version <version>',
        'which Cilium runs, where its DaemonSet cannot be seen: 1.11',
      ).helpGroup(group),
    )
    .addOption(
      new Option('--cilium-namespace <name>', 'where Cilium lives')
        .default('kube-system')
        .helpGroup(group),
    );
}

/** Flags are judged before anything is read. */
export async function gather(flags: DoctorFlagValues, terminal: Terminal): Promise<Evidence> {
  const { mode, clusterPool, serviceNetworks } = readMode(flags);
  const ciliumVersion = readVersion(flags.ciliumVersion);
  const listening = readListening(flags);
  const objects = await readObjects(flags, terminal);
  requireNodes(objects);
  const ribs = await readRibs(flags.rib ?? [], terminal);
  const live = listening === undefined ? [] : await hear(listening, terminal);
  return assemble({
    nowMs: terminal.clock.wallMs(),
    mode,
    objects,
    ciliumVersion,
    clusterPool,
    serviceNetworks,
    routers: [...ribs, ...live],
    kernel: await kernelOf(flags.kernel, objects.nodes),
  });
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
  if (listen === undefined) return undefined;
  const seconds = readWhole('--listen-seconds', listenSeconds, 1, 3600);
  const routers =
    listenRouters === undefined ? undefined : readWhole('--listen-routers', listenRouters, 1, 256);
  return { plans: listen, seconds, routers };
}

function readWhole(flag: string, text: string, least: number, most: number): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (value >= least && value <= most) return value;
  throw new CadastreError(
    'BAD_FLAG',
    `${flag}=${text} is not a whole number from ${least} to ${most}`,
  );
}

async function hear(
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
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    });
  } finally {
    done();
  }
}

function readMode(flags: DoctorFlagValues): {
  mode: Mode | undefined;
  clusterPool: Pool | undefined;
  serviceNetworks: Evidence['serviceNetworks'];
} {
  const { ipam } = flags;
  if (ipam !== undefined && !modes.includes(ipam as Mode)) {
    throw new CadastreError('BAD_FLAG', `--ipam=${ipam} is not a mode Cadastre knows`, {
      remedy: `Use one of: ${modes.join(', ')}; left out, it is read off the cluster.`,
    });
  }
  const hasRange =
    flags.clusterPoolIpv4Cidr !== undefined || flags.clusterPoolIpv6Cidr !== undefined;
  // A range in flags means that mode; without one the range is cilium-config's.
  const isRanged = ipam === 'cluster-pool' || ipam === 'cluster-pool-v2' || ipam === undefined;
  const asked = hasRange && isRanged ? { ...flags, ipam: ipam ?? 'cluster-pool' } : flags;
  const isPlain = !hasRange && (ipam?.startsWith('cluster-pool') === true || ipam === 'multi-pool');
  const settings =
    isPlain || asked.ipam === undefined
      ? readIpamFlags({ serviceCidr: flags.serviceCidr ?? [] })
      : readIpamFlags(asked);
  return {
    mode: asked.ipam as Mode | undefined,
    clusterPool: settings.clusterPool,
    serviceNetworks: settings.serviceNetworks,
  };
}

function readVersion(text: string | undefined) {
  if (text === undefined) return undefined;
  const version = parseCiliumVersion(text);
  if (version !== undefined) return { ...version, from: '--cilium-version' };
  throw new CadastreError('BAD_FLAG', `--cilium-version=${text} is not a version like 1.11`);
}
