import { type Address, parseAddress } from '../net/address.ts';
import { type Family, families } from '../net/family.ts';
import {
  loadBalancerClass,
  poolAnnotations,
  requestAnnotations,
  serviceConditionType,
} from './keys.ts';
import type { Labels } from './label-selector.ts';
import {
  type Condition,
  type Identity,
  identityOf,
  type KubeObject,
  textList,
  timestampMs,
} from './object.ts';

/** A Service, as far as its address from outside goes. */
export interface ClusterService extends Identity {
  namespace: string;
  /** Type LoadBalancer, and of no class or of ours. */
  isForUs: boolean;
  /** The families it is to have an address of, the first one first. */
  families: readonly Family[];
  /** One family is as good as both. */
  isContent: boolean;
  labels: Labels;
  requested: readonly Address[];
  /** What stands where addresses should, in the words of whoever wrote it. */
  requestProblem: string | undefined;
  requestedPool: string | undefined;
  /** What status.loadBalancer shows. */
  ingress: readonly string[];
  /** Where it is reached from outside, whoever gave it the address. */
  externalAddresses: readonly string[];
  isLocal: boolean;
  createdMs: number;
  condition: Condition | undefined;
}

/** Of a Service that is not of type LoadBalancer only its identity is kept. */
export function readService(object: KubeObject): ClusterService {
  const identity = identityOf(object);
  const namespace = object.metadata?.namespace ?? '';
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const status = (object.status ?? {}) as {
    loadBalancer?: { ingress?: Array<{ ip?: string }> | null } | null;
    conditions?: Condition[] | null;
  };
  const isForUs =
    spec.type === 'LoadBalancer' &&
    (spec.loadBalancerClass === undefined || spec.loadBalancerClass === loadBalancerClass);
  const condition = status.conditions?.find(({ type }) => type === serviceConditionType);
  const ingress = (status.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip ? [ip] : []));
  const externalAddresses = [...ingress, ...textList(spec.externalIPs)];
  if (!isForUs) return { ...nothing, ...identity, namespace, condition, externalAddresses };
  const annotations = object.metadata?.annotations ?? {};
  const first = (keys: readonly string[]) =>
    keys.map((key) => annotations[key]).find((text) => text !== undefined && text.trim() !== '');
  const text = first(requestAnnotations) ?? (spec.loadBalancerIP as string | undefined) ?? '';
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const requested = words.map((word) => parseAddress(word));
  const bad = words.find((_, at) => requested[at] === undefined);
  const wanted = (Array.isArray(spec.ipFamilies) ? spec.ipFamilies : ['IPv4']).map((word) =>
    String(word).toLowerCase(),
  );
  return {
    ...identity,
    namespace,
    isForUs,
    families: wanted.flatMap((word) => families.filter((family) => family === word)),
    isContent: spec.ipFamilyPolicy === 'PreferDualStack',
    labels: object.metadata?.labels ?? {},
    requested: requested.filter((address) => address !== undefined),
    requestProblem: bad === undefined ? undefined : `"${bad}" is not an IP address`,
    requestedPool: first(poolAnnotations)?.trim(),
    ingress,
    externalAddresses,
    isLocal: spec.externalTrafficPolicy === 'Local',
    createdMs: timestampMs(object.metadata?.creationTimestamp),
    condition,
  };
}

const nothing = {
  isForUs: false,
  families: [],
  isContent: false,
  labels: {},
  requested: [],
  requestProblem: undefined,
  requestedPool: undefined,
  ingress: [],
  isLocal: false,
  createdMs: 0,
} as const;

export function serviceKey({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}
