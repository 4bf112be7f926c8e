/**
 * The built-in kinds. To add one: a row here, its name in the list that
 * test/apiserver reads the schemas by, and columns if `kubectl get` should
 * show more than its age.
 */
import type { KindRules, ResourceType } from '../resource.ts';
import { resolver, type Schema } from '../schema/schema.ts';
import { builtinColumns } from './columns.ts';
import definitions from './schemas.json' with { type: 'json' };

type Trait =
  | 'namespaced'
  | 'hasStatus'
  | 'hasGeneration'
  /** A PUT of an object that is not there creates it. */
  | 'createsOnUpdate'
  /** A PUT without a resourceVersion is refused. */
  | 'needsVersion'
  /** A DELETE answers with the object. */
  | 'returnsDeleted';

/** Beside the name and namespace, by which every kind can be selected. */
type SelectableFields = readonly string[];
type Row = [
  group: string,
  kind: string,
  plural: string,
  shortNames: string[],
  traits: Trait[],
  fields?: SelectableFields,
];

const core = '';
const extensions = 'apiextensions.k8s.io';
const crd = 'CustomResourceDefinition';
const networking = 'networking.k8s.io';
const rbac = 'rbac.authorization.k8s.io';

const workload: Trait[] = ['namespaced', 'hasStatus', 'hasGeneration'];
const listed: Trait[] = ['namespaced', 'createsOnUpdate'];
const served: Trait[] = ['namespaced', 'hasStatus', 'returnsDeleted'];
const defined: Trait[] = ['hasStatus', 'hasGeneration', 'needsVersion'];

const ofObject = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
const eventFields = [
  ...ofObject.map((field) => `involvedObject.${field}`),
  ...['reason', 'reportingComponent', 'type'],
];
const podFields = ['spec.nodeName', 'spec.restartPolicy', 'status.phase', 'status.podIP'];

const rows: Row[] = [
  [core, 'ConfigMap', 'configmaps', ['cm'], ['namespaced']],
  [core, 'Endpoints', 'endpoints', ['ep'], listed],
  [core, 'Event', 'events', ['ev'], listed, eventFields],
  [core, 'Namespace', 'namespaces', ['ns'], ['hasStatus', 'returnsDeleted'], ['status.phase']],
  [core, 'Node', 'nodes', ['no'], ['hasStatus'], ['spec.unschedulable']],
  [core, 'Pod', 'pods', ['po'], [...workload, 'returnsDeleted'], podFields],
  [core, 'Secret', 'secrets', [], ['namespaced'], ['type']],
  [core, 'Service', 'services', ['svc'], served, ['spec.clusterIP', 'spec.type']],
  [core, 'ServiceAccount', 'serviceaccounts', ['sa'], ['namespaced', 'returnsDeleted']],
  [extensions, crd, `${crd.toLowerCase()}s`, ['crd', 'crds'], defined],
  ['apps', 'DaemonSet', 'daemonsets', ['ds'], workload],
  ['apps', 'Deployment', 'deployments', ['deploy'], workload],
  ['coordination.k8s.io', 'Lease', 'leases', [], [...listed, 'needsVersion']],
  ['discovery.k8s.io', 'EndpointSlice', 'endpointslices', [], ['namespaced', 'hasGeneration']],
  [networking, 'IPAddress', 'ipaddresses', ['ip'], ['hasGeneration']],
  [networking, 'NetworkPolicy', 'networkpolicies', ['netpol'], ['namespaced', 'hasGeneration']],
  [networking, 'ServiceCIDR', 'servicecidrs', [], ['hasStatus']],
  ['policy', 'PodDisruptionBudget', 'poddisruptionbudgets', ['pdb'], ['namespaced', ...defined]],
  [rbac, 'ClusterRole', 'clusterroles', [], ['createsOnUpdate']],
  [rbac, 'ClusterRoleBinding', 'clusterrolebindings', [], ['createsOnUpdate']],
  [rbac, 'Role', 'roles', [], listed],
  [rbac, 'RoleBinding', 'rolebindings', [], listed],
];

/** What `kubectl get all` lists. */
const all = ['all'];
const categories: Readonly<Record<string, string[]>> = {
  Pod: all,
  Service: all,
  DaemonSet: all,
  Deployment: all,
  [crd]: ['api-extensions'],
};

export const builtinDefinitions = openUp(definitions as unknown as Record<string, Schema>);

/** What the document calls an object and means anything. */
function openUp(all: Record<string, Schema>): Record<string, Schema> {
  const open: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
  const extensions = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';
  return {
    ...all,
    [`${meta}.FieldsV1`]: open,
    // A schema inside an object is data: judged when the resource is registered.
    [`${extensions}.JSONSchemaProps`]: open,
  };
}

export const resolveBuiltin = resolver(builtinDefinitions);
export const metadataSchema: Schema = {
  $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
};

interface WithKinds extends Schema {
  'x-kubernetes-group-version-kind'?: { group: string; kind: string }[];
}

/** The name of a built-in kind's definition. */
function definitionOf(group: string, kind: string): string {
  for (const [name, schema] of Object.entries(builtinDefinitions)) {
    const kinds = (schema as WithKinds)['x-kubernetes-group-version-kind'] ?? [];
    if (kinds.some((each) => each.group === group && each.kind === kind)) return name;
  }
  throw new Error(`no schema for ${kind} of ${group}`);
}

export function builtinTypes(rulesOf: (kind: string) => KindRules): ResourceType[] {
  return rows.map(([group, kind, plural, shortNames, traits, fields = []]) => {
    const is = (trait: Trait) => traits.includes(trait);
    return {
      group,
      version: 'v1',
      kind,
      plural,
      singular: kind.toLowerCase(),
      listKind: `${kind}List`,
      namespaced: is('namespaced'),
      shortNames,
      categories: categories[kind] ?? [],
      isCustom: false,
      storageVersion: 'v1',
      hasStatus: is('hasStatus'),
      hasGeneration: is('hasGeneration'),
      createsOnUpdate: is('createsOnUpdate'),
      updatesUnconditionally: !is('needsVersion'),
      returnsDeleted: is('returnsDeleted'),
      selectableFields: [...fields],
      schema: { $ref: `#/components/schemas/${definitionOf(group, kind)}` },
      resolve: resolveBuiltin,
      hasRules: false,
      ...builtinColumns(kind),
      kindRules: rulesOf(kind),
    };
  });
}
