/**
 * From a pod of a manifest to a container of a real runtime. containerd itself writes the
 * specification (masked and read-only paths, the seccomp profile for these capabilities);
 * what a kubelet would ask for is added to it.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Containerd } from './containerd.ts';
import { imageUser } from './image-user.ts';
import { type Container, type PodSpec, securityOf } from './pod-of-manifest.ts';

/** The parts of an OCI runtime specification that are read or written here. */
export interface RuntimeSpec {
  root: { path: string; readonly?: boolean };
  process: {
    args: string[];
    env: string[];
    user: { uid: number; gid: number };
    capabilities: Record<string, string[]>;
    noNewPrivileges?: boolean;
  };
  mounts: Array<{ destination: string; type: string; source: string; options: string[] }>;
  linux: {
    seccomp?: object;
    namespaces: Array<{ type: string; path?: string }>;
    maskedPaths: string[];
    readonlyPaths: string[];
  };
}

export interface Surroundings {
  /** Made by `makeImageRoot`. */
  imageRoot: string;
  /** The Node that we ship. */
  nodeBinary: string;
  /** Stands for the root folder of the node: where hostPath volumes begin. */
  hostRoot: string;
  /** The node's network namespace, or the pod's. */
  netnsPath: string;
  nodeName: string;
  /** Where the service account's token, ca.crt and namespace lie; absent: no pod of a cluster. */
  accountFolder?: string;
  env?: Record<string, string>;
}

/** Parts of the kernel, the same in every folder tree: the node's is the one of this machine. */
const ofTheKernel = ['/run/netns', '/proc/sys/net'];
/** The image has it in /usr/local/bin, which is this machine's here. */
const nodeFolder = '/opt/node';
const entrypoint = '/opt/cadastre/dist/cadastre.mjs';

export async function runtimeSpec(
  containerd: Containerd,
  pod: PodSpec,
  container: Container,
  where: Surroundings,
): Promise<RuntimeSpec> {
  const security = securityOf(pod, container);
  const spec = await specOfContainerd(containerd, security.capabilities, security.privileged);
  const { uid, gid } = userOf(security, imageUser());
  if (security.runAsNonRoot && uid === 0) {
    throw new Error(`${container.name}: has runAsNonRoot and would run as root`);
  }
  spec.root = { path: where.imageRoot, readonly: security.readOnlyRootFilesystem ?? false };
  spec.process.args = [...(container.command ?? [entrypoint]), ...(container.args ?? [])];
  spec.process.user = { uid, gid };
  spec.process.noNewPrivileges = security.allowPrivilegeEscalation === false;
  spec.process.env = envOf(container, where);
  if (security.seccompProfile?.type !== 'RuntimeDefault') delete spec.linux.seccomp;
  if (security.privileged) Object.assign(spec.linux, { maskedPaths: [], readonlyPaths: [] });
  const own = spec.linux.namespaces.filter(
    ({ type }) => type !== 'network' && !(type === 'pid' && pod.hostPID),
  );
  spec.linux.namespaces = [...own, { type: 'network', path: where.netnsPath }];
  spec.mounts = [
    // /run of the image, not a memory file system of ctr's.
    ...spec.mounts.filter(({ destination }) => destination !== '/run'),
    ...imageMounts,
    bind(dirname(where.nodeBinary), nodeFolder, ['rbind', 'rprivate', 'ro']),
    ...volumeMounts(pod, container, where),
  ];
  return spec;
}

/** As Kubernetes counts them: what is dropped from the runtime's own list, then what is added. */
async function specOfContainerd(
  containerd: Containerd,
  { add = [], drop = [] }: { add?: string[]; drop?: string[] } = {},
  isPrivileged = false,
): Promise<RuntimeSpec> {
  const of = async (...flags: string[]) => {
    const id = `spec-${process.pid}`;
    const words = ['--seccomp', ...flags, '--rootfs', dirname(containerd.socket), id, 'true'];
    await containerd.ctr('containers', 'create', ...words);
    const { Spec } = JSON.parse(await containerd.ctr('containers', 'info', id));
    await containerd.ctr('containers', 'rm', id);
    return Spec as RuntimeSpec;
  };
  if (isPrivileged) return of('--privileged');
  const standard = await of();
  const has = standard.process.capabilities.bounding ?? [];
  const dropped = drop.includes('ALL') ? has : drop.map((name) => `CAP_${name}`);
  // ctr adds first and drops then.
  const gone = dropped.filter((name) => !add.includes(name.slice('CAP_'.length)));
  return of(
    ...gone.flatMap((name) => ['--cap-drop', name]),
    ...add.flatMap((name) => ['--cap-add', `CAP_${name}`]),
  );
}

function userOf(
  { runAsUser, runAsGroup }: { runAsUser?: number; runAsGroup?: number },
  image: string,
): { uid: number; gid: number } {
  const [uid, gid] = image.split(':').map(Number);
  return { uid: runAsUser ?? uid!, gid: runAsGroup ?? (runAsUser === undefined ? gid! : 0) };
}

function envOf({ env = [] }: Container, { nodeName, env: more }: Surroundings): string[] {
  const values = env.map(({ name, value, valueFrom }) => {
    if (value !== undefined) return `${name}=${value}`;
    if (valueFrom?.fieldRef.fieldPath === 'spec.nodeName') return `${name}=${nodeName}`;
    throw new Error(`no value is known for ${name} of the manifest`);
  });
  return [
    `PATH=${nodeFolder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    'HOME=/',
    ...values,
    ...Object.entries(more ?? {}).map(([name, value]) => `${name}=${value}`),
  ];
}

/** Programs and libraries of this machine, where the image has Debian's. */
const imageMounts = ['/usr', '/bin', '/lib', '/lib64', '/sbin']
  .filter((path) => existsSync(path))
  .map((path) => bind(path, path, ['rbind', 'rprivate', 'ro']));

function volumeMounts(
  pod: PodSpec,
  { volumeMounts: mounts = [] }: Container,
  { hostRoot, accountFolder }: Surroundings,
): RuntimeSpec['mounts'] {
  const made = mounts.map(({ name, mountPath, readOnly, mountPropagation }) => {
    const hostPath = pod.volumes?.find((volume) => volume.name === name)?.hostPath;
    if (hostPath === undefined) throw new Error(`volume ${name} of the manifest is no hostPath`);
    const { path, type } = hostPath;
    const source = ofTheKernel.includes(path) ? path : join(hostRoot, path);
    if (type === 'DirectoryOrCreate') mkdirSync(source, { recursive: true });
    if (!existsSync(source)) throw new Error(`hostPath ${path} (${type}) is not on the node`);
    const propagation = mountPropagation === 'HostToContainer' ? 'rslave' : 'rprivate';
    return bind(source, mountPath, ['rbind', propagation, readOnly ? 'ro' : 'rw']);
  });
  if (accountFolder === undefined || pod.automountServiceAccountToken === false) return made;
  const account = '/run/secrets/kubernetes.io/serviceaccount';
  return [...made, bind(accountFolder, account, ['rbind', 'rprivate', 'ro'])];
}

function bind(source: string, destination: string, options: string[]) {
  return { destination, type: 'bind', source, options };
}

/** What is to be run, in a file for `ctr run --config`. */
export function writeSpec(spec: RuntimeSpec, file: string): void {
  writeFileSync(file, JSON.stringify(spec));
}
