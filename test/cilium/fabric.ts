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
import { type HeldPath, tableOf } from '../../src/lab/routers/router.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from '../world/eventually.ts';
import { machineAddress, namespaceOf, nodeNetwork, router } from './layout.ts';

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
    ]);
    await ipBatch(undefined, [
      `link add ${uplink} type veth peer name machine netns ${fabric.namespace}`,
      `addr add ${machineAddress}/24 dev ${uplink}`,
      `link set ${uplink} up`,
    ]);
    await ipBatch(fabric.namespace, ['link set machine master br0', 'link set machine up']);
    await runInside(fabric.namespace, ['sysctl', '-qw', 'net.ipv4.ip_forward=1']);
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
  async connect(node: string, namespace: string, address: string): Promise<void> {
    await ipBatch(this.namespace, [
      `link add ${node} type veth peer name eth0 netns ${namespace}`,
      `link set ${node} master br0`,
      `link set ${node} up`,
    ]);
    await ipBatch(namespace, [
      'link set lo up',
      'link set eth0 up',
      `addr add ${address}/24 dev eth0`,
      `route add default via ${router.address}`,
    ]);
  }

  /** The router's own dump, as `cadastre doctor --rib` takes it. */
  async dump(): Promise<string> {
    const { stdout } = await runInside(
      this.namespace,
      frr.tableCommand(this.#folder, 'ipv4') as string[],
    );
    return stdout;
  }

  async paths(): Promise<HeldPath[]> {
    return frr.readPaths(await this.dump());
  }

  /** What leads where: `10.50.0.0/24 via 172.31.77.11`, sorted. */
  async table(): Promise<string[]> {
    return tableOf(await this.paths())
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
  ' neighbor NODES peer-group',
  ' neighbor NODES remote-as external',
  ' neighbor NODES advertisement-interval 0',
  ` bgp listen range ${nodeNetwork} peer-group NODES`,
  ' address-family ipv4 unicast',
  '  maximum-paths 16',
  '  neighbor NODES activate',
  '  neighbor NODES route-map NOTHING out',
  ' exit-address-family',
  '',
].join('\n');
