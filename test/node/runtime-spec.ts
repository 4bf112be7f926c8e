/**
 * From a pod of a manifest to a container of a real runtime. containerd itself writes the
 * specification (masked and read-only paths, the seccomp profile for these capabilities);
 * what a kubelet would ask for is added to it.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Containerd } from './containerd.ts';
import {
  type Container,
  type PodSpec,
  type SecurityContext,
  securityOf,
} from './pod-of-manifest.ts';

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
  /** The image's name in this containerd, and a root folder made of it. */
  image: string;
  imageRoot: string;
  /** Stands for the root folder of the node: where hostPath volumes begin. */
  hostRoot: string;
  /** The node's network namespace, or the pod's. */
  netnsPath: string;
  nodeName: string;
  /** Of the node, and of the pod if that has its network. */
  hostAddress: string;
  /** Where the service account's token, ca.crt and namespace lie; absent: no pod of a cluster. */
  accountFolder?: string;
  env?: Record<string, string>;
}

/** Parts of the kernel, the same in every folder tree: the node's is the one of this machine. */
const ofTheKernel = ['/run/netns', '/proc/sys/net'];

export async function runtimeSpec(
  containerd: Containerd,
  pod: PodSpec,
  container: Container,
  where: Surroundings,
): Promise<RuntimeSpec> {
  const security = securityOf(pod, container);
  const spec = await specOfContainerd(containerd, where.image, security);
  const { uid, gid } = userOf(security, spec.process.user);
  if (security.runAsNonRoot && uid === 0) {
    throw new Error(`${container.name}: has runAsNonRoot and would run as root`);
  }
  spec.root = { path: where.imageRoot, readonly: security.readOnlyRootFilesystem ?? false };
  spec.process.args = [...(container.command ?? spec.process.args), ...(container.args ?? [])];
  spec.process.user = { uid, gid };
  spec.process.noNewPrivileges = security.allowPrivilegeEscalation === false;
  spec.process.env.push(...envOf(container, where));
  spec.process.args = spec.process.args.map((word) => expanded(word, spec.process.env));
  if (security.seccompProfile?.type !== 'RuntimeDefault') delete spec.linux.seccomp;
  if (security.privileged) Object.assign(spec.linux, { maskedPaths: [], readonlyPaths: [] });
  const own = spec.linux.namespaces.filter(
    ({ type }) => type !== 'network' && !(type === 'pid' && pod.hostPID),
  );
  spec.linux.namespaces = [...own, { type: 'network', path: where.netnsPath }];
  spec.mounts = [
    // /run of the image, not a memory file system of ctr's.
    ...spec.mounts.filter(({ destination }) => destination !== '/run'),
    ...volumeMounts(pod, container, where),
  ];
  return spec;
}

/**
 * What containerd makes of the image's own configuration. Capabilities as Kubernetes counts
 * them: what is dropped from the runtime's own list, then what is added.
 */
async function specOfContainerd(
  containerd: Containerd,
  image: string,
  { capabilities: { add = [], drop = [] } = {}, privileged = false }: SecurityContext,
): Promise<RuntimeSpec> {
  const of = async (...flags: string[]) => {
    const id = `spec-${process.pid}`;
    await containerd.ctr('containers', 'create', '--seccomp', ...flags, image, id);
    const { Spec } = JSON.parse(await containerd.ctr('containers', 'info', id));
    await containerd.ctr('containers', 'rm', id);
    return Spec as RuntimeSpec;
  };
  if (privileged) return of('--privileged');
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
  { runAsUser, runAsGroup }: SecurityContext,
  image: { uid: number; gid: number },
): { uid: number; gid: number } {
  if (runAsUser === undefined) return { uid: image.uid, gid: runAsGroup ?? image.gid };
  return { uid: runAsUser, gid: runAsGroup ?? 0 };
}

/** `$(NAME)`, as kubelet writes it into arguments. */
function expanded(word: string, env: readonly string[]): string {
  return word.replace(/\$\((\w+)\)/g, (whole, name) => {
    const found = env.find((one) => one.startsWith(`${name}=`));
    return found === undefined ? whole : found.slice(name.length + 1);
  });
}

function envOf({ env = [] }: Container, where: Surroundings): string[] {
  const { nodeName, hostAddress, env: more } = where;
  const fields: Record<string, string> = {
    'spec.nodeName': nodeName,
    'status.hostIP': hostAddress,
    'status.podIP': hostAddress,
  };
  const values = env.map(({ name, value, valueFrom }) => {
    if (value !== undefined) return `${name}=${value}`;
    const known = fields[valueFrom?.fieldRef.fieldPath ?? ''];
    if (known !== undefined) return `${name}=${known}`;
    throw new Error(`no value is known for ${name} of the manifest`);
  });
  const others = Object.entries(more ?? {}).map(([name, value]) => `${name}=${value}`);
  return [...values, ...others];
}

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
