/**
 * What lies between the nodes: a bridge in the router's namespace, with FRR beside it, to
 * which every node may open a session; and the machine, where the API server listens.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  deleteNamespaces,
  endProcesses,
  hasNamespace,
  ipBatch,
  namespacePath,
  runInside,
} from '../../src/lab/namespaces.ts';
import { frr } from '../../src/lab/routers/frr.ts';
import { tableOf } from '../../src/lab/routers/router.ts';
import { type Family, families } from '../../src/net/family.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from '../world/eventually.ts';
import {
  machineAddress,
  namespaceOf,
  nodeAddress,
  nodeAddress6,
  nodeNetwork,
  nodeNetwork6,
  router,
} from './layout.ts';

const uplink = 'cadcil0';

export class Fabric {
  readonly namespace = namespaceOf(router.name);
  readonly #folder: string;
  readonly #processes: PartProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(dir: string): Promise<Fabric> {
    // FRR does not run as root, and must get to its own folder.
    chmodSync(dir, 0o711);
    const fabric = new Fabric(join(dir, 'frr'));
    await ipBatch(undefined, [`netns add ${fabric.namespace}`]);
    await ipBatch(fabric.namespace, [
      'link set lo up',
      'link add br0 type bridge',
      'link set br0 up',
      `addr add ${router.address}/24 dev br0`,
      `addr add ${router.address6}/64 dev br0 nodad`,
    ]);
    await ipBatch(undefined, [
      `link add ${uplink} type veth peer name machine netns ${fabric.namespace}`,
      `addr add ${machineAddress}/24 dev ${uplink}`,
      `link set ${uplink} up`,
    ]);
    await ipBatch(fabric.namespace, ['link set machine master br0', 'link set machine up']);
    const forwarding = ['net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1'];
    await runInside(fabric.namespace, ['sysctl', '-qw', ...forwarding]);
    await fabric.#startFrr();
    return fabric;
  }

  async #startFrr(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(join(this.#folder, 'zebra.conf'), 'log stdout\n');
    writeFileSync(join(this.#folder, 'bgpd.conf'), bgpdConfig);
    execFileSync('chown', ['-R', 'frr:frr', this.#folder]);
    for (const { name, command, readyPath } of frr.processes(this.#folder, [])) {
      this.#processes.push(
        startPart({
          name,
          binary: 'nsenter',
          args: [`--net=${namespacePath(this.namespace)}`, ...command],
          logFile: join(this.#folder, `${name}.log`),
          dir: this.#folder,
        }),
      );
      await eventually(() => {
        if (!existsSync(readyPath)) throw new Error(`${name} does not serve yet`);
      });
    }
  }

  /** A node's cable: `eth0` in its namespace, a port of the bridge here. */
  async connect(node: string, namespace: string): Promise<void> {
    await ipBatch(this.namespace, [
      `link add ${node} type veth peer name eth0 netns ${namespace}`,
      `link set ${node} master br0`,
      `link set ${node} up`,
    ]);
    await ipBatch(namespace, [
      'link set lo up',
      'link set eth0 up',
      `addr add ${nodeAddress(node)}/24 dev eth0`,
      `addr add ${nodeAddress6(node)}/64 dev eth0 nodad`,
      `route add default via ${router.address}`,
      `route add ::/0 via ${router.address6}`,
    ]);
  }

  /** The router's own dump, as `cadastre doctor --rib` takes it. */
  async dump(family: Family = 'ipv4'): Promise<string> {
    const command = frr.tableCommand(this.#folder, family) as string[];
    return (await runInside(this.namespace, command)).stdout;
  }

  /** What leads where: `10.50.0.0/24 via 172.31.77.11`, sorted. */
  async table(): Promise<string[]> {
    const dumps = await Promise.all(families.map((family) => this.dump(family)));
    return tableOf(dumps.flatMap(frr.readPaths))
      .map(({ prefix, nextHop }) => `${prefix} via ${nextHop}`)
      .sort();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.splice(0).map((part) => part.stop()));
    await removeFabric();
  }
}

export async function removeFabric(): Promise<void> {
  const namespace = namespaceOf(router.name);
  if (hasNamespace(namespace)) {
    await endProcesses([namespace]);
    await deleteNamespaces([namespace]);
  }
  // With the namespace its end of the cable goes, and with that, sooner or later, ours.
  spawnSync('ip', ['link', 'del', uplink], { stdio: 'ignore' });
}

const bgpdConfig = [
  'log stdout informational',
  'hostname router',
  'route-map NOTHING deny 10',
  'exit',
  `router bgp ${router.asn}`,
  ` bgp router-id ${router.address}`,
  ' no bgp ebgp-requires-policy',
  ' no bgp default ipv4-unicast',
  ...['NODES', 'NODES6'].flatMap((group) => [
    ` neighbor ${group} peer-group`,
    ` neighbor ${group} remote-as external`,
    ` neighbor ${group} advertisement-interval 0`,
  ]),
  ` bgp listen range ${nodeNetwork} peer-group NODES`,
  ` bgp listen range ${nodeNetwork6} peer-group NODES6`,
  ' address-family ipv4 unicast',
  '  maximum-paths 16',
  '  neighbor NODES activate',
  '  neighbor NODES route-map NOTHING out',
  ' exit-address-family',
  ' address-family ipv6 unicast',
  '  maximum-paths 16',
  '  neighbor NODES6 activate',
  '  neighbor NODES6 route-map NOTHING out',
  ' exit-address-family',
  '',
].join('\n');
