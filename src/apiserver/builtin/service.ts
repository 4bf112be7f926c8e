/** Services: their addresses come out of the Service networks, their node ports out of a range. */
import { parseAddress } from '../../net/address.ts';
import { addressCount, parsePrefix } from '../../net/prefix.ts';
import { type ApiObject, type Fields, isEqual } from '../object.ts';
import { type KindRules, keepSpec } from '../resource.ts';
import { type Fault, faults } from '../status.ts';
import type { Collection } from '../store/collection.ts';

const nodePorts = { first: 30_000, last: 32_767 };

export function serviceRules(services: () => Collection, networks: () => string[]): KindRules {
  const taken = (field: (spec: Fields) => unknown[]) => {
    const found = new Set<unknown>();
    for (const { object } of services().entries()) {
      for (const value of field((object.spec ?? {}) as Fields)) found.add(value);
    }
    return found;
  };
  const addresses = () => taken((spec) => (spec.clusterIPs ?? []) as string[]);

  const fill = (service: ApiObject, old?: ApiObject) => {
    service.spec ??= {};
    const spec = service.spec as Fields;
    const before = (old?.spec ?? {}) as Fields;
    spec.type ??= 'ClusterIP';
    spec.sessionAffinity ??= 'None';
    if (old !== undefined) dropWhatTheTypeLeaves(service, old);
    for (const port of (spec.ports ?? []) as Fields[]) {
      port.protocol ??= 'TCP';
      port.targetPort ??= port.port;
    }
    if (spec.type === 'ExternalName') return;
    spec.internalTrafficPolicy ??= 'Cluster';
    spec.ipFamilyPolicy ??= 'SingleStack';
    // Who changes the one address means the first of all.
    if (old !== undefined && spec.clusterIP && spec.clusterIP !== before.clusterIP) {
      const rest = isEqual(spec.clusterIPs, before.clusterIPs) ? [] : (spec.clusterIPs ?? []);
      spec.clusterIPs = [spec.clusterIP, ...(rest as string[]).slice(1)];
    }
    // What was given once stays, also when a client leaves it out.
    spec.clusterIP ??= before.clusterIP;
    spec.clusterIPs ??= before.clusterIPs;
    if (!spec.clusterIP && Array.isArray(spec.clusterIPs)) spec.clusterIP = spec.clusterIPs[0];
    spec.ipFamilies ??= before.ipFamilies ?? wantedFamilies(spec, networks());
    const families = spec.ipFamilies as string[];
    if (spec.clusterIP !== 'None') {
      const given = [
        ...((spec.clusterIPs ?? (spec.clusterIP ? [spec.clusterIP] : [])) as string[]),
      ];
      const used = addresses();
      for (const family of families.slice(given.length)) {
        const free = freeAddress(
          networks().filter((cidr) => familyOf(cidr) === family),
          used,
        );
        if (free !== undefined) given.push(free);
      }
      if (given.length > 0) spec.clusterIPs = given;
      spec.clusterIP ||= given[0];
    } else spec.clusterIPs ??= ['None'];
    if (spec.type === 'LoadBalancer') {
      if (spec.allocateLoadBalancerNodePorts === undefined)
        spec.allocateLoadBalancerNodePorts = true;
    }
    if (spec.type === 'LoadBalancer' || spec.type === 'NodePort') {
      spec.externalTrafficPolicy ??= 'Cluster';
      if (spec.allocateLoadBalancerNodePorts !== false) givePorts(spec, before);
    }
  };

  const givePorts = (spec: Fields, before: Fields) => {
    const used = taken((each) => ((each.ports ?? []) as Fields[]).map(({ nodePort }) => nodePort));
    for (const port of (spec.ports ?? []) as Fields[]) {
      const same = ((before.ports ?? []) as Fields[]).find(
        (each) => each.port === port.port && each.protocol === port.protocol,
      );
      port.nodePort ??= same?.nodePort;
      for (let at = nodePorts.first; port.nodePort === undefined && at <= nodePorts.last; at++) {
        if (!used.has(at)) port.nodePort = at;
      }
      used.add(port.nodePort);
    }
  };

  return {
    prepareCreate: (service) => {
      fill(service);
      service.status = { loadBalancer: {} };
    },
    prepareUpdate: fill,
    prepareStatus: keepSpec,
    validate: (service, old) => {
      const spec = (service.spec ?? {}) as Fields;
      const found: Fault[] = [];
      if (
        spec.type !== 'ExternalName' &&
        !(spec.ports as unknown[])?.length &&
        spec.clusterIP !== 'None'
      ) {
        found.push(faults.required('spec.ports'));
      }
      const families = new Set(networks().map(familyOf)).size;
      if (spec.ipFamilyPolicy === 'RequireDualStack' && families < 2) {
        const why = 'this cluster is not configured for dual-stack services';
        found.push(faults.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, why));
      }
      const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
      if (!types.includes(String(spec.type))) {
        found.push(faults.unsupported('spec.type', spec.type, types));
      }
      const before = (old?.spec ?? {}) as Fields;
      if (
        before.clusterIP &&
        before.type !== 'ExternalName' &&
        spec.type !== 'ExternalName' &&
        spec.clusterIP !== before.clusterIP
      ) {
        found.push(
          faults.invalid('spec.clusterIPs[0]', spec.clusterIPs, 'may not change once set'),
        );
      } else if (
        old === undefined &&
        typeof spec.clusterIP === 'string' &&
        spec.clusterIP !== 'None'
      ) {
        found.push(...addressFaults(spec.clusterIP, networks(), addresses()));
      }
      const ports = () => taken((each) => ((each.ports ?? []) as Fields[]).map(nodePortOf));
      found.push(...nodePortFaults(spec, before, ports));
      if (spec.type !== 'LoadBalancer' && hasIngress(service)) {
        const why = "may only be used when `spec.type` is 'LoadBalancer'";
        found.push(faults.forbidden('status.loadBalancer.ingress', why));
      }
      return found;
    },
  };
}

/** Of one Service, whatever the protocol. */
const nodePortOf = ({ nodePort }: Fields) => nodePort;

function nodePortFaults(spec: Fields, before: Fields, taken: () => Set<unknown>): Fault[] {
  const own = new Set(((before.ports ?? []) as Fields[]).map(nodePortOf));
  return ((spec.ports ?? []) as Fields[]).flatMap((port, at) => {
    const { nodePort } = port;
    if (!nodePort || own.has(nodePortOf(port))) return [];
    const { first, last } = nodePorts;
    const say = (why: string) => [faults.invalid(`spec.ports[${at}].nodePort`, nodePort, why)];
    if (Number(nodePort) < first || Number(nodePort) > last) {
      return say(
        `provided port is not in the valid range. The range of valid ports is ${first}-${last}`,
      );
    }
    return taken().has(nodePortOf(port)) ? say('provided port is already allocated') : [];
  });
}

function hasIngress({ status }: ApiObject): boolean {
  const { ingress } = ((status as Fields | undefined)?.loadBalancer ?? {}) as {
    ingress?: object[];
  };
  return (ingress ?? []).length > 0;
}

const hasNodePorts = (type: unknown) => type === 'LoadBalancer' || type === 'NodePort';

/** A Service that becomes another kind of Service gives back what only the old kind has. */
function dropWhatTheTypeLeaves(service: ApiObject, old: ApiObject): void {
  const [spec, before] = [service.spec as Fields, (old.spec ?? {}) as Fields];
  const drop = (...fields: string[]) => {
    for (const field of fields) if (isEqual(spec[field], before[field])) delete spec[field];
  };
  if (hasNodePorts(before.type) && !hasNodePorts(spec.type)) {
    const given = new Set(((before.ports ?? []) as Fields[]).map(nodePortOf));
    for (const port of (spec.ports ?? []) as Fields[]) {
      if (given.has(nodePortOf(port))) delete port.nodePort;
    }
    drop('externalTrafficPolicy', 'healthCheckNodePort');
  }
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    drop('allocateLoadBalancerNodePorts', 'loadBalancerClass');
    service.status = { ...(service.status as Fields), loadBalancer: {} };
  }
  if (before.type !== 'ExternalName' && spec.type === 'ExternalName') {
    drop('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy');
  }
}

const familyOf = (text: string) => (text.includes(':') ? 'IPv6' : 'IPv4');

/** In the order of the Service networks; as many as the policy asks for and the cluster has. */
function wantedFamilies(spec: Fields, networks: string[]): string[] {
  const given = (spec.clusterIPs ?? (spec.clusterIP ? [spec.clusterIP] : [])) as string[];
  const named = given.filter((ip) => ip !== 'None').map(familyOf);
  if (named.length > 0) return named;
  const all = [...new Set(networks.map(familyOf))];
  const has = all.length > 0 ? all : ['IPv4'];
  return spec.ipFamilyPolicy === 'SingleStack' ? has.slice(0, 1) : has;
}

function addressFaults(text: string, networks: string[], taken: Set<unknown>): Fault[] {
  const field = 'spec.clusterIPs';
  const parsed = parseAddress(text);
  const refused = (why: string) => [
    faults.invalid(field, [text], `failed to allocate IP ${text}: ${why}`),
  ];
  if (parsed === undefined) {
    return [
      faults.invalid(
        `${field}[0]`,
        text,
        'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ),
    ];
  }
  if (!networks.some((cidr) => parsePrefix(cidr)?.contains(parsed))) {
    return refused(
      `the provided IP (${text}) is not in the valid range. The range of valid IPs is ${networks.join(',')}`,
    );
  }
  return taken.has(text) ? refused('provided IP is already allocated') : [];
}

/** The lowest that nobody has; the network's own address is nobody's. */
function freeAddress(networks: string[], taken: Set<unknown>): string | undefined {
  const network = parsePrefix(networks[0] ?? '');
  if (network === undefined) return undefined;
  const size = addressCount(network);
  for (let at = 1n; at < size - 1n; at++) {
    const text = network.first().plus(at).toString();
    if (!taken.has(text)) return text;
  }
  return undefined;
}
