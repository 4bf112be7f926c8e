/** The processes of the control plane, all in the namespace `control`. */
import { join } from 'node:path';
import { apiServerPort, control, serviceNetwork } from './layout.ts';
import type { ApiServerKind, Programs } from './programs.ts';

/** The names of all processes of a cluster that are not on a node. */
export function controlPlaneParts(apiServer: ApiServerKind): readonly string[] {
  return [
    ...(apiServer === 'real' ? ['etcd', 'kube-apiserver'] : [embeddedName]),
    'api-forward',
    'kube-controller-manager',
    'kube-scheduler',
    'router-zebra',
    'router-bgpd',
  ];
}

const embeddedName = 'api-server';

export interface PartCommand {
  readonly name: string;
  readonly command: readonly string[];
}

interface ControlPlane {
  readonly apiServer: readonly PartCommand[];
  /** Only when the API server is ready: before it has made its default roles it forbids them everything. */
  readonly controllers: readonly PartCommand[];
}

/** `folder` has pki and the kubeconfigs; `cadastre` runs this program. */
export function controlPlaneCommands(
  kind: ApiServerKind,
  programs: Programs,
  folder: string,
  cadastre: readonly string[],
): ControlPlane {
  return {
    apiServer:
      kind === 'real' ? realApiServer(programs, folder) : [embeddedApiServer(cadastre, folder)],
    controllers: controllers(kind, programs, folder),
  };
}

/** Below the folder of the control plane. */
export const embeddedFolder = 'api-server';

function embeddedApiServer(cadastre: readonly string[], folder: string): PartCommand {
  const data = join(folder, embeddedFolder);
  return { name: embeddedName, command: [...cadastre, 'lab', 'cluster', 'api-server', data] };
}

function command(programs: Programs, name: Parameters<Programs['path']>[0], flags: string[]) {
  return { name, command: [programs.path(name), ...flags] };
}

function realApiServer(programs: Programs, folder: string): PartCommand[] {
  const file = (...parts: string[]) => join(folder, ...parts);
  const pki = (name: string) => file('pki', name);
  const etcd = 'http://127.0.0.1:2379';
  return [
    command(programs, 'etcd', [
      `--data-dir=${file('etcd')}`,
      `--listen-client-urls=${etcd}`,
      `--advertise-client-urls=${etcd}`,
      '--listen-peer-urls=http://127.0.0.1:2380',
      '--log-level=warn',
      // A lab does not survive a power cut of the machine anyway.
      '--unsafe-no-fsync',
    ]),
    command(programs, 'kube-apiserver', [
      '--bind-address=0.0.0.0',
      `--advertise-address=${control.ipv4}`,
      `--secure-port=${apiServerPort}`,
      `--etcd-servers=${etcd}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      `--client-ca-file=${pki('ca.crt')}`,
      `--tls-cert-file=${pki('apiserver.crt')}`,
      `--tls-private-key-file=${pki('apiserver.key')}`,
      `--kubelet-certificate-authority=${pki('ca.crt')}`,
      `--kubelet-client-certificate=${pki('apiserver-kubelet-client.crt')}`,
      `--kubelet-client-key=${pki('apiserver-kubelet-client.key')}`,
      '--kubelet-preferred-address-types=InternalIP',
      `--proxy-client-cert-file=${pki('front-proxy-client.crt')}`,
      `--proxy-client-key-file=${pki('front-proxy-client.key')}`,
      `--requestheader-client-ca-file=${pki('front-proxy-ca.crt')}`,
      '--requestheader-allowed-names=front-proxy-client',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-username-headers=X-Remote-User',
      // No kube-proxy runs beside it: what the aggregation layer forwards goes to endpoints.
      '--enable-aggregator-routing=true',
      `--service-account-key-file=${pki('sa.key')}`,
      `--service-account-signing-key-file=${pki('sa.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-cluster-ip-range=${serviceNetwork.ipv4},${serviceNetwork.ipv6}`,
      '--allow-privileged=true',
      '--profiling=false',
    ]),
  ];
}

function controllers(kind: ApiServerKind, programs: Programs, folder: string): PartCommand[] {
  const file = (...parts: string[]) => join(folder, ...parts);
  const pki = (name: string) => file('pki', name);
  // The embedded API server has no ConfigMap that says whose certificates it takes: it takes none.
  const delegated = (config: string) =>
    kind === 'embedded'
      ? []
      : [`--authentication-kubeconfig=${config}`, `--authorization-kubeconfig=${config}`];
  return [
    command(programs, 'kube-controller-manager', [
      `--kubeconfig=${file('controller-manager.conf')}`,
      ...delegated(file('controller-manager.conf')),
      '--bind-address=127.0.0.1',
      '--leader-elect=false',
      // Whatever is installed as the pod network gives nodes their blocks.
      '--allocate-node-cidrs=false',
      `--cluster-signing-cert-file=${pki('ca.crt')}`,
      `--cluster-signing-key-file=${pki('ca.key')}`,
      `--root-ca-file=${pki('root-ca.crt')}`,
      `--service-account-private-key-file=${pki('sa.key')}`,
      '--use-service-account-credentials=true',
      '--profiling=false',
    ]),
    command(programs, 'kube-scheduler', [
      `--kubeconfig=${file('scheduler.conf')}`,
      ...delegated(file('scheduler.conf')),
      '--bind-address=127.0.0.1',
      '--leader-elect=false',
      '--profiling=false',
    ]),
  ];
}
