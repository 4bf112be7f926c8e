/** What runs on a node: containerd, kubelet and kube-proxy, with their configuration. */
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { Credentials } from './credentials.ts';
import { pauseImage } from './images.ts';
import { clusterDns, type Host } from './layout.ts';
import { nodeFolders } from './node-start.ts';
import type { ContainerdMajor, Programs } from './programs.ts';

export const nodePrograms = ['containerd', 'kubelet', 'kube-proxy'] as const;
export type NodeProgram = (typeof nodePrograms)[number];

export const containerdSocket = '/run/containerd/containerd.sock';

/** Fills the folder of a node, before its first start. */
export function writeNode(
  folder: string,
  host: Host,
  containerd: ContainerdMajor,
  credentials: Credentials,
  programs: Programs,
): void {
  for (const name of nodeFolders) mkdirSync(join(folder, name), { recursive: true });
  const etc = (path: string) => {
    const file = join(folder, 'etc/upper', path);
    mkdirSync(dirname(file), { recursive: true });
    return file;
  };
  writeFileSync(etc('hosts'), `127.0.0.1 localhost\n::1 localhost\n${host.ipv4} ${host.name}\n`);
  writeFileSync(etc('resolv.conf'), '');
  writeFileSync(etc('machine-id'), `${randomUUID().replaceAll('-', '')}\n`);
  writeFileSync(etc('containerd/config.toml'), containerdConfig[containerd]);
  mkdirSync(etc('cni/net.d'), { recursive: true });
  mkdirSync(etc('kubernetes/manifests'), { recursive: true });
  credentials.writeNodeServing(dirname(etc('kubernetes/pki/kubelet.crt')), host);
  credentials.writeKubeconfig(etc('kubernetes/kubelet.conf'), {
    name: `system:node:${host.name}`,
    groups: ['system:nodes'],
  });
  credentials.writeKubeconfig(etc('kubernetes/kube-proxy.conf'), { name: 'system:kube-proxy' });
  writeFileSync(etc('kubernetes/kubelet.yaml'), stringify(kubeletConfig));
  writeFileSync(etc('kubernetes/kube-proxy.yaml'), stringify(kubeProxyConfig));
  // As the package kubernetes-cni does. The pod network brings its own.
  const plugins = join(folder, 'opt/upper/cni/bin');
  mkdirSync(plugins, { recursive: true });
  cpSync(programs.cniPlugins, plugins, { recursive: true, dereference: true });
}

export function nodeCommand(
  program: NodeProgram,
  host: Host,
  containerd: ContainerdMajor,
  programs: Programs,
): { readonly command: string[]; readonly env: NodeJS.ProcessEnv } {
  const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const runtime = programs.containerd.get(containerd)!;
  // containerd looks for its shim there.
  const env = { PATH: `${runtime}:${system}` };
  switch (program) {
    case 'containerd':
      return { command: [join(runtime, 'containerd')], env };
    case 'kubelet':
      return {
        command: [
          programs.path('kubelet'),
          '--config=/etc/kubernetes/kubelet.yaml',
          '--kubeconfig=/etc/kubernetes/kubelet.conf',
          `--hostname-override=${host.name}`,
          `--node-ip=${host.ipv4},${host.ipv6}`,
        ],
        env,
      };
    case 'kube-proxy':
      return {
        command: [
          programs.path('kube-proxy'),
          '--config=/etc/kubernetes/kube-proxy.yaml',
          `--hostname-override=${host.name}`,
        ],
        env,
      };
  }
}

/** A command line that puts the archive on its stdin among the node's images. */
export function importCommand(containerd: ContainerdMajor, programs: Programs): string[] {
  const ctr = join(programs.containerd.get(containerd)!, 'ctr');
  // By ctr itself, as in 1.x, instead of the transfer service of 2.x.
  const local = containerd === 1 ? [] : ['--local'];
  return [ctr, '-n', 'k8s.io', 'images', 'import', ...local, '-'];
}

const kubeletConfig = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
  },
  authorization: { mode: 'Webhook' },
  tlsCertFile: '/etc/kubernetes/pki/kubelet.crt',
  tlsPrivateKeyFile: '/etc/kubernetes/pki/kubelet.key',
  containerRuntimeEndpoint: `unix://${containerdSocket}`,
  staticPodPath: '/etc/kubernetes/manifests',
  resolvConf: '/etc/resolv.conf',
  clusterDomain: 'cluster.local',
  clusterDNS: [clusterDns],
  cgroupDriver: 'cgroupfs',
  failCgroupV1: false,
  failSwapOn: false,
  enforceNodeAllocatable: [],
  // Images cannot be pulled again, and the disk is the machine's own.
  imageGCHighThresholdPercent: 100,
  evictionHard: { 'memory.available': '100Mi' },
  nodeStatusUpdateFrequency: '5s',
  logging: { verbosity: 2 },
};

const kubeProxyConfig = {
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  clientConnection: { kubeconfig: '/etc/kubernetes/kube-proxy.conf' },
  mode: 'nftables',
  detectLocalMode: 'InterfaceNamePrefix',
  detectLocal: { interfaceNamePrefix: 'cad' },
  // These limits belong to the whole machine.
  conntrack: { maxPerCore: 0, min: 0, tcpCloseWaitTimeout: '0s', tcpEstablishedTimeout: '0s' },
};

/** restrict_oom_score_adj: where the machine is a container itself, nobody may lower it below their own. */
const containerdConfig: Readonly<Record<ContainerdMajor, string>> = {
  1: `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`,
  2: `version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '${pauseImage}'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['/opt/cni/bin']
    conf_dir = '/etc/cni/net.d'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
`,
};
