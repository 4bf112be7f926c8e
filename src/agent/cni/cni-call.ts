import { type Address, parseAddress } from '../../net/address.ts';
import { type Family, families } from '../../net/family.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { CniError } from './cni-error.ts';

export const supportedVersions = ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;
export type CniVersion = (typeof supportedVersions)[number];
export const newestVersion: CniVersion = '1.1.0';

export const commands = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION'] as const;
type CniCommand = (typeof commands)[number];

/** What came with one call: the variables without their `CNI_`, and standard input. */
export interface CniInput {
  command: string;
  containerId: string;
  netns: string;
  ifname: string;
  args: string;
  /** The name under which the plugin was called; configurations name it as `type`. */
  plugin: string;
  /** When the plugin stops waiting, in ms of CLOCK_MONOTONIC; a plugin of an older version does not say. */
  giveUpAtMs?: number | undefined;
  stdin: string;
}

/** The plugin's patience in seconds, from its start to the end of the answer; as in cadastre-cni.c. */
export const answerSeconds = 20;

/** The clock that all processes of a machine share, in ms. */
export function machineMonotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

export interface CniConfig {
  cniVersion: CniVersion;
  network: string;
  /** Called by another plugin (`ptp`, `bridge`, `macvlan`) for addresses alone. */
  isIpam: boolean;
  /** Undefined: every family the node has. */
  families: Family[] | undefined;
  requested: Address[];
  mtu: number | undefined;
  dns: object | undefined;
  /** `ipam.routes`, passed on as they are, as host-local does. */
  ipamRoutes: object[];
  prevResult: PrevResult | undefined;
  validAttachments: CniAttachment[];
}

interface CniAttachment {
  containerID: string;
  ifname: string;
}

interface PrevResult {
  ips?: Array<{ address?: string }>;
  interfaces?: Array<{ name?: string; sandbox?: string }>;
}

type Json = Record<string, unknown>;

export function readCommand(input: CniInput): CniCommand {
  const { command } = input;
  const known = commands.find((name) => name === command);
  if (known !== undefined) return known;
  throw new CniError(
    'InvalidEnvironment',
    command === '' ? 'CNI_COMMAND is not set' : `CNI_COMMAND is ${JSON.stringify(command)}`,
    `it must be one of ${commands.join(', ')}`,
  );
}

/** The version to answer in, even if the rest of the configuration is broken. */
export function readCniVersion(stdin: string): string {
  try {
    const { cniVersion } = JSON.parse(stdin) as { cniVersion?: unknown };
    return typeof cniVersion === 'string' ? cniVersion : newestVersion;
  } catch {
    return newestVersion;
  }
}

/** The pod as Kubernetes names it, from CNI_ARGS; for people alone. */
export function readPodName(args: string): string | undefined {
  const pairs = new Map(args.split(';').map((pair) => pair.split(/=(.*)/s, 2) as [string, string]));
  const [namespace, name] = [pairs.get('K8S_POD_NAMESPACE'), pairs.get('K8S_POD_NAME')];
  if (!namespace || !name) return undefined;
  return `${namespace}/${name}`.slice(0, 512);
}

/** The container and interface of ADD, DEL and CHECK. */
export function checkEnvironment(command: CniCommand, input: CniInput): void {
  const refuse = (variable: string, value: string, rule: string) => {
    const what = value === '' ? 'is not set' : `is ${JSON.stringify(value)}`;
    throw new CniError('InvalidEnvironment', `${variable} ${what}`, rule);
  };
  const { containerId, ifname, netns } = input;
  if (!/^[a-zA-Z0-9][\w.-]*$/.test(containerId)) {
    refuse('CNI_CONTAINERID', containerId, 'it must be letters, digits, "_", "." or "-"');
  }
  // The kernel's rules for interface names (dev_valid_name).
  if (ifname === '.' || ifname === '..' || !/^[^\s/:]{1,15}$/.test(ifname)) {
    refuse('CNI_IFNAME', ifname, 'it must be a name of at most 15 characters, without "/" and ":"');
  }
  if (command !== 'DEL' && netns === '') {
    refuse('CNI_NETNS', netns, "it must be the path of the pod's network namespace");
  }
}

export function readConfig(input: CniInput, served: CniCommand): CniConfig {
  const json = decode(input.stdin);
  const cniVersion = supported(json.cniVersion, served);
  const network = json.name;
  if (typeof network !== 'string' || !/^[a-zA-Z0-9][\w.-]*$/.test(network)) {
    invalid('name', network, 'a name of letters, digits, "_", "." and "-"');
  }
  const ipam = section(json, 'ipam');
  const isIpam = json.type !== input.plugin && ipam.type === input.plugin;
  if (!isIpam && json.type !== input.plugin) {
    invalid('type', json.type, `${JSON.stringify(input.plugin)}, or that in ipam.type`);
  }
  return {
    cniVersion,
    network: network as string,
    isIpam,
    families: readFamilies(ipam.families ?? json.families),
    requested: readRequested(json, input.args),
    mtu: readMtu(json.mtu),
    dns: json.dns === undefined ? undefined : section(json, 'dns'),
    ipamRoutes: list('ipam.routes', ipam.routes) as object[],
    prevResult: json.prevResult === undefined ? undefined : (section(json, 'prevResult') as Json),
    validAttachments: readAttachments(json['cni.dev/valid-attachments']),
  };
}

function decode(stdin: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(stdin);
  } catch (error) {
    throw new CniError(
      'DecodingFailure',
      `the network configuration is not JSON: ${(error as Error).message}`,
      'compare the file in /etc/cni/net.d with the documentation',
      error,
    );
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw new CniError('InvalidConfig', 'the network configuration is not a JSON object');
}

const firstVersionOf: Partial<Record<CniCommand, CniVersion>> = {
  CHECK: '0.4.0',
  GC: '1.1.0',
  STATUS: '1.1.0',
};

function supported(value: unknown, command: CniCommand): CniVersion {
  const version = supportedVersions.find((one) => one === value);
  if (version === undefined) {
    throw new CniError(
      'IncompatibleVersion',
      `cniVersion ${JSON.stringify(value ?? null)} is not supported`,
      `supported are ${supportedVersions.join(', ')}`,
    );
  }
  const first = firstVersionOf[command];
  if (first === undefined || version >= first) return version;
  throw new CniError(
    'IncompatibleVersion',
    `CNI ${version} has no ${command}`,
    `it came with ${first}`,
  );
}

function invalid(key: string, value: unknown, wanted: string): never {
  const what = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  throw new CniError('InvalidConfig', `${key} ${what}`, `it must be ${wanted}`);
}

function section(json: Json, key: string): Json {
  const value = json[key];
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Json;
  return invalid(key, value, 'an object');
}

function list(key: string, value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : invalid(key, value, 'a list');
}

function readFamilies(value: unknown): Family[] | undefined {
  if (value === undefined) return undefined;
  const isGood =
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((one) => families.includes(one as Family));
  return isGood ? (value as Family[]) : invalid('families', value, '["ipv4"], ["ipv6"] or both');
}

function readMtu(value: unknown): number | undefined {
  if (value === undefined || value === 0) return undefined;
  const isGood = typeof value === 'number' && Number.isInteger(value) && value >= 68;
  return isGood && value <= 65535 ? value : invalid('mtu', value, 'a number from 68 to 65535');
}

/** The three ways to ask for an address: the `ips` capability, `args.cni.ips`, and IP= in CNI_ARGS. */
function readRequested(json: Json, args: string): Address[] {
  const fromCapability = list('runtimeConfig.ips', section(json, 'runtimeConfig').ips);
  const fromArgs = list('args.cni.ips', section(section(json, 'args'), 'cni').ips);
  const inVariable = args
    .split(';')
    .filter((pair) => pair.startsWith('IP='))
    .flatMap((pair) => pair.slice(3).split(','));
  const asked = [fromCapability, fromArgs, inVariable].find((one) => one.length > 0) ?? [];
  const seen = new Set<Family>();
  return asked.map((value) => {
    const text = String(value);
    const address = parseAddress(text.includes('/') ? text.slice(0, text.indexOf('/')) : text);
    const isCidr = !text.includes('/') || parsePrefix(text) !== undefined;
    if (address === undefined || !isCidr) invalid('a requested address', value, 'an IP address');
    if (seen.has(address.family)) invalid('a requested address', value, 'one of a family');
    seen.add(address.family);
    return address;
  });
}

/** Absent is empty: libcni leaves an empty list out, and cnitool's GC has none. */
function readAttachments(value: unknown): CniAttachment[] {
  const all = list('cni.dev/valid-attachments', value) as Array<Partial<CniAttachment> | null>;
  for (const one of all) {
    // One that we cannot read must not look like one that is not there: GC would free its pod.
    if (typeof one?.containerID === 'string' && typeof one.ifname === 'string') continue;
    invalid('cni.dev/valid-attachments', value, 'a list of { containerID, ifname }');
  }
  return all as CniAttachment[];
}
