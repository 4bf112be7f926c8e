import { type Command, Option } from 'commander';
import { CadastreError } from '../base/errors.ts';
import { assemble } from '../doctor/assemble.ts';
import { parseCiliumVersion } from '../model/cilium-config.ts';
import type { Pool } from '../model/ip-pool.ts';
import { type Evidence, type Mode, modes } from '../plan/doctor/evidence.ts';
import { readObjects, requireNodes } from './doctor-objects.ts';
import type { Door } from './door.ts';
import { addIpamFlags, type IpamFlagValues, readIpamFlags } from './ipam-flags.ts';
import { type RibFlag, readRibFlag, readRibs, type SeenRouter } from './rib-flags.ts';
import { addViewFlags, type ViewFlagValues } from './view-flags.ts';

/** What doctor and whatif look at; the two take the same flags. */
export type DoctorFlagValues = ViewFlagValues &
  IpamFlagValues & {
    rib?: RibFlag[];
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
export async function gather(
  flags: DoctorFlagValues,
  door: Door,
  live: () => Promise<SeenRouter[]> = async () => [],
): Promise<Evidence> {
  const { mode, clusterPool, serviceNetworks } = readMode(flags);
  const ciliumVersion = readVersion(flags.ciliumVersion);
  const objects = await readObjects(flags, door);
  requireNodes(objects);
  const routers = [...(await readRibs(flags.rib ?? [], door)), ...(await live())];
  return assemble({
    nowMs: door.clock.wallMs(),
    mode,
    objects,
    ciliumVersion,
    clusterPool,
    serviceNetworks,
    routers,
  });
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
