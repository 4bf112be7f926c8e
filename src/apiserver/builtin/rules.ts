/** What the built-in kinds do beyond their schemas, kind by kind. */
import { prefixProblem } from '../../net/prefix.ts';
import { labelFaults, pathSegmentFaults } from '../names.ts';
import { type ApiObject, type Fields, isEqual } from '../object.ts';
import { type KindRules, keepSpec } from '../resource.ts';
import { type Fault, faults } from '../status.ts';
import type { Collection } from '../store/collection.ts';
import { nodeRules } from './node.ts';
import { podRules } from './pod.ts';
import { serviceRules } from './service.ts';
import { simpleRules } from './simple-rules.ts';
import { workloadRules } from './workloads.ts';

/** Of a kind that has a status: its creator does not say it, and a write of it is of nothing else. */
const withStatus: KindRules = {
  prepareStatus: keepSpec,
};

interface RulesContext {
  services: () => Collection;
  serviceNetworks: () => string[];
  crdRules: KindRules;
  admitPod: (pod: ApiObject) => void;
}

export function builtinRules(context: RulesContext): (kind: string) => KindRules {
  const rules: Record<string, KindRules> = {
    ...workloadRules,
    ...simpleRules,
    ClusterRole: { nameFaults: pathSegmentFaults },
    ClusterRoleBinding: { nameFaults: pathSegmentFaults, validate: roleRefFaults },
    ConfigMap: { validate: (object) => sizeFaults('[]', object.data, object.binaryData) },
    CustomResourceDefinition: context.crdRules,
    Event: { validate: eventFaults },
    Lease: { validate: leaseFaults },
    Namespace: namespaceRules,
    Node: nodeRules,
    Pod: podRules(context.admitPod),
    Role: { nameFaults: pathSegmentFaults },
    RoleBinding: { nameFaults: pathSegmentFaults, validate: roleRefFaults },
    Secret: {
      prepareCreate: fillSecret,
      prepareUpdate: fillSecret,
      validate: (object) => sizeFaults('data', undefined, object.data),
    },
    Service: serviceRules(context.services, context.serviceNetworks),
    ServiceCIDR: serviceCidrRules,
  };
  return (kind) => ({ ...withStatus, ...rules[kind] });
}

const namespaceRules: KindRules = {
  nameFaults: (name) => labelFaults(name),
  prepareCreate: (namespace) => {
    namespace.spec = { finalizers: ['kubernetes'] };
    namespace.status = { phase: 'Active' };
    labelByName(namespace);
  },
  prepareUpdate: (namespace, old) => {
    namespace.spec = old.spec;
    labelByName(namespace);
  },
  refuseDelete: ({ metadata: { name } }) =>
    ['default', 'kube-system', 'kube-public'].includes(name)
      ? 'this namespace may not be deleted'
      : undefined,
};

function labelByName(namespace: ApiObject): void {
  const { name, labels } = namespace.metadata;
  namespace.metadata.labels = { ...labels, 'kubernetes.io/metadata.name': name };
}

function fillSecret(secret: ApiObject): void {
  secret.type ??= 'Opaque';
  const plain = (secret.stringData ?? {}) as Record<string, string>;
  if (Object.keys(plain).length > 0) {
    const data = { ...(secret.data as Fields) };
    for (const [key, value] of Object.entries(plain))
      data[key] = Buffer.from(value).toString('base64');
    secret.data = data;
  }
  delete secret.stringData;
}

/** Of a ConfigMap or a Secret. */
const maxDataBytes = 1024 * 1024;

function sizeFaults(field: string, plain: unknown, base64: unknown): Fault[] {
  const sum = (of: unknown, size: (text: string) => number) =>
    Object.values((of ?? {}) as Record<string, string>).reduce((all, text) => all + size(text), 0);
  const bytes = sum(plain, Buffer.byteLength) + sum(base64, (text) => (text.length * 3) / 4 - 2);
  return bytes > maxDataBytes ? [faults.tooLong(field, maxDataBytes)] : [];
}

function leaseFaults(lease: ApiObject): Fault[] {
  const spec = (lease.spec ?? {}) as Fields;
  const found: Fault[] = [];
  if (spec.leaseDurationSeconds !== undefined && Number(spec.leaseDurationSeconds) <= 0) {
    found.push(
      faults.invalid(
        'spec.leaseDurationSeconds',
        spec.leaseDurationSeconds,
        'must be greater than 0',
      ),
    );
  }
  if (spec.leaseTransitions !== undefined && Number(spec.leaseTransitions) < 0) {
    found.push(
      faults.invalid(
        'spec.leaseTransitions',
        spec.leaseTransitions,
        'must be greater than or equal to 0',
      ),
    );
  }
  return found;
}

/** An event lies beside what it is about; of what has no namespace it is in `default`. */
function eventFaults(event: ApiObject): Fault[] {
  const about = ((event.involvedObject as Fields | undefined)?.namespace ?? '') as string;
  const { namespace = '' } = event.metadata;
  const isRight =
    about === '' ? ['default', 'kube-system'].includes(namespace) : about === namespace;
  return isRight
    ? []
    : [faults.invalid('involvedObject.namespace', about, 'does not match event.namespace')];
}

function roleRefFaults(binding: ApiObject, old: ApiObject | undefined): Fault[] {
  if (old === undefined || isEqual(binding.roleRef, old.roleRef)) return [];
  return [faults.invalid('roleRef', binding.roleRef, 'cannot change roleRef')];
}

const serviceCidrRules: KindRules = {
  prepareStatus: keepSpec,
  validate: (object, old) => {
    const cidrs = ((object.spec as Fields | undefined)?.cidrs ?? []) as string[];
    if (old !== undefined && !isEqual(cidrs, (old.spec as Fields).cidrs)) {
      return [faults.invalid('spec.cidrs', cidrs, 'field is immutable')];
    }
    if (cidrs.length === 0) return [faults.required('spec.cidrs', 'at least one CIDR required')];
    return cidrs.flatMap((cidr, at) =>
      prefixProblem(cidr) !== undefined
        ? [
            faults.invalid(
              `spec.cidrs[${at}]`,
              cidr,
              'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
            ),
          ]
        : [],
    );
  },
};
