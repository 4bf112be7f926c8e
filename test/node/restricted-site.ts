/**
 * A cluster whose operator and agent run as deploy/ says: in containers of a real containerd,
 * with the securityContext, mounts and service account of their manifests. Beside the node
 * there is a router, BIRD.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { addNamespace, deleteNamespace, ip, type Namespace } from '../kernel/namespaces.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { Cluster } from '../world/cluster.ts';
import { ApiRelay } from './api-relay.ts';
import { ContainerProcess } from './container-process.ts';
import { Containerd } from './containerd.ts';
import { importImage, mountImage } from './image-root.ts';
import { type Container, type PodSpec, podOf } from './pod-of-manifest.ts';
import { runtimeSpec, type Surroundings } from './runtime-spec.ts';

const run = promisify(execFile);
export const nodeName = 'n1';
export const nodeAddress = '10.4.94.32';
export const routerAddress = '10.4.94.1';

export class RestrictedSite {
  readonly cluster: Cluster;
  readonly containerd: Containerd;
  readonly relay: ApiRelay;
  readonly dir: string;
  readonly node: Namespace;
  readonly router: Namespace;
  readonly running = new Set<ContainerProcess>();
  readonly #image: string;
  readonly #mounts: Array<() => Promise<void>> = [];
  #bird: PartProcess | undefined;

  private constructor(parts: {
    cluster: Cluster;
    containerd: Containerd;
    image: string;
    dir: string;
    node: Namespace;
    router: Namespace;
  }) {
    this.cluster = parts.cluster;
    this.containerd = parts.containerd;
    this.#image = parts.image;
    this.dir = parts.dir;
    this.node = parts.node;
    this.router = parts.router;
    this.relay = new ApiRelay(parts.cluster.api.url, parts.dir);
  }

  static async make(): Promise<RestrictedSite> {
    const dir = mkdtempSync(join(tmpdir(), 'restricted-'));
    // A container that is not root's must find its root folder.
    chmodSync(dir, 0o755);
    const [cluster, containerd] = await Promise.all([
      Cluster.start(),
      Containerd.start(join(dir, 'containerd')),
    ]);
    const { reference: image } = await importImage(containerd);
    const [node, router] = [await addNamespace(), await addNamespace()];
    await ip(`-n ${router.name} link add to-node type veth peer name eth0 netns ${node.name}`);
    await ip(`-n ${router.name} addr add ${routerAddress}/24 dev to-node`);
    await ip(`-n ${router.name} link set to-node up`);
    await ip(`-n ${node.name} addr add ${nodeAddress}/24 dev eth0`);
    await ip(`-n ${node.name} addr add fd04:94::32/64 dev eth0 nodad`);
    await ip(`-n ${node.name} link set eth0 up`);
    await ip(`-n ${node.name} route add default via ${routerAddress}`);
    const site = new RestrictedSite({ cluster, containerd, image, dir, node, router });
    site.relay.openIn(node.path, 'node');
    mkdirSync(site.onHost('/etc'), { recursive: true });
    writeFileSync(site.onHost('/etc/machine-id'), '0123456789abcdef0123456789abcdef\n');
    return site;
  }

  /** Where a path of the node lies on this machine. */
  onHost(path: string): string {
    return join(this.dir, 'host', path);
  }

  /** Applies the manifest. Its pod is on the node, and gets a token that says so, as a kubelet asks for it. */
  async addAccount(manifest: string): Promise<void> {
    const { cluster } = this;
    const applied = await cluster.kubectl(['apply', '-f', manifest]);
    if (applied.exitCode !== 0) throw new Error(`${manifest}: ${applied.stderr}`);
    const spec = podOf(manifest);
    const { serviceAccountName: name } = spec;
    const core = '/api/v1/namespaces/kube-system';
    const { metadata } = await cluster.must<{ metadata: { uid: string } }>('POST', `${core}/pods`, {
      metadata: { name },
      spec: { ...spec, nodeName },
    });
    const token = await cluster.must<{ status: { token: string } }>(
      'POST',
      `${core}/serviceaccounts/${name}/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid: metadata.uid } },
      },
    );
    const files = {
      token: token.status.token,
      'ca.crt': cluster.api.ca,
      namespace: 'kube-system',
    };
    mkdirSync(this.#accountFolder(spec));
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(this.#accountFolder(spec), file), text);
    }
  }

  async start(
    pod: PodSpec,
    container: Container,
    more: Partial<Surroundings> = {},
  ): Promise<ContainerProcess> {
    const root = join(this.dir, `image-${this.#mounts.length}`);
    const { folder, unmount } = await mountImage(this.containerd, this.#image, root);
    this.#mounts.push(unmount);
    const spec = await runtimeSpec(this.containerd, pod, container, {
      image: this.#image,
      imageRoot: folder,
      hostRoot: join(this.dir, 'host'),
      netnsPath: this.node.path,
      nodeName,
      hostAddress: nodeAddress,
      accountFolder: this.#accountFolder(pod),
      env: {
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: String(this.relay.port),
      },
      ...more,
    });
    const started = new ContainerProcess(this.containerd, container.name, spec, this.dir);
    this.running.add(started);
    return started;
  }

  #accountFolder({ serviceAccountName }: PodSpec): string {
    return join(this.dir, serviceAccountName);
  }

  startRouter(): void {
    const config = join(this.dir, 'bird.conf');
    writeFileSync(
      config,
      `log stderr all;
router id ${routerAddress};
protocol device { }
protocol bgp node {
  local ${routerAddress} as 64524;
  neighbor ${nodeAddress} as 64513;
  passive on;
  ipv4 { import all; export none; };
}
`,
    );
    this.#bird = startPart({
      name: 'bird',
      binary: 'nsenter',
      args: [
        `--net=${this.router.path}`,
        ...['/usr/sbin/bird', '-f', '-c', config, '-s', join(this.dir, 'bird.ctl')],
      ],
      logFile: join(this.dir, 'bird.log'),
      dir: this.dir,
    });
  }

  /** What the router has learned. */
  async learned(): Promise<string> {
    const words = ['-s', join(this.dir, 'bird.ctl'), 'show', 'route'];
    return (await run('/usr/sbin/birdc', words)).stdout;
  }

  async end(): Promise<void> {
    await Promise.all([...this.running].map((each) => each.stop('SIGKILL')));
    await this.#bird?.stop();
    await this.relay.close();
    for (const unmount of this.#mounts) await unmount();
    await this.containerd.stop();
    await this.cluster.stop();
    for (const one of [this.node, this.router]) await deleteNamespace(one);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
