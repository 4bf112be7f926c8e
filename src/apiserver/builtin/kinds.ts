/**
 * The built-in kinds. To add one: a row here, its name in the list that
 * test/apiserver reads the schemas by, and columns if `kubectl get` should
 * show more than its age.
 */
import type { KindRules, ResourceType } from '../resource.ts';
import { resolver, type Schema } from '../schema/schema.ts';
import { builtinColumns } from './columns.ts';
import definitions from './schemas.json' with { type: 'json' };

interface Row {
  group: string;
  kind: string;
  plural: string;
  namespaced?: true;
  shortNames?: string[];
  categories?: string[];
  hasStatus?: true;
  hasGeneration?: true;
  createsOnUpdate?: true;
  needsVersion?: true;
  returnsDeleted?: true;
  selectableFields?: string[];
}

const core = '';
const apps = 'apps';
const networking = 'networking.k8s.io';
const rbac = 'rbac.authorization.k8s.io';

const rows: Row[] = [
  {
    group: core,
    kind: 'ConfigMap',
    plural: 'configmaps',
    namespaced: true,
    shortNames: ['cm'],
  },
  {
    group: core,
    kind: 'Endpoints',
    plural: 'endpoints',
    namespaced: true,
    shortNames: ['ep'],
    createsOnUpdate: true,
  },
  {
    group: core,
    kind: 'Event',
    plural: 'events',
    namespaced: true,
    shortNames: ['ev'],
    createsOnUpdate: true,
    selectableFields: [
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
      'involvedObject.apiVersion',
      'involvedObject.resourceVersion',
      'involvedObject.fieldPath',
      'reason',
      'reportingComponent',
      'type',
    ],
  },
  {
    group: core,
    kind: 'Namespace',
    plural: 'namespaces',
    shortNames: ['ns'],
    hasStatus: true,
    returnsDeleted: true,
    selectableFields: ['status.phase'],
  },
  {
    group: core,
    kind: 'Node',
    plural: 'nodes',
    shortNames: ['no'],
    hasStatus: true,
    selectableFields: ['spec.unschedulable'],
  },
  {
    group: core,
    kind: 'Pod',
    plural: 'pods',
    namespaced: true,
    shortNames: ['po'],
    categories: ['all'],
    hasStatus: true,
    hasGeneration: true,
    returnsDeleted: true,
    selectableFields: ['spec.nodeName', 'spec.restartPolicy', 'status.phase', 'status.podIP'],
  },
  { group: core, kind: 'Secret', plural: 'secrets', namespaced: true, selectableFields: ['type'] },
  {
    group: core,
    kind: 'Service',
    plural: 'services',
    namespaced: true,
    shortNames: ['svc'],
    categories: ['all'],
    hasStatus: true,
    returnsDeleted: true,
    selectableFields: ['spec.clusterIP', 'spec.type'],
  },
  {
    group: core,
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    namespaced: true,
    shortNames: ['sa'],
    returnsDeleted: true,
  },
  {
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    hasStatus: true,
    hasGeneration: true,
    needsVersion: true,
  },
  {
    group: apps,
    kind: 'DaemonSet',
    plural: 'daemonsets',
    namespaced: true,
    shortNames: ['ds'],
    categories: ['all'],
    hasStatus: true,
    hasGeneration: true,
  },
  {
    group: apps,
    kind: 'Deployment',
    plural: 'deployments',
    namespaced: true,
    shortNames: ['deploy'],
    categories: ['all'],
    hasStatus: true,
    hasGeneration: true,
  },
  {
    group: 'coordination.k8s.io',
    kind: 'Lease',
    plural: 'leases',
    namespaced: true,
    createsOnUpdate: true,
    needsVersion: true,
  },
  {
    group: 'discovery.k8s.io',
    kind: 'EndpointSlice',
    plural: 'endpointslices',
    namespaced: true,
    hasGeneration: true,
  },
  {
    group: networking,
    kind: 'IPAddress',
    plural: 'ipaddresses',
    shortNames: ['ip'],
    hasGeneration: true,
  },
  {
    group: networking,
    kind: 'NetworkPolicy',
    plural: 'networkpolicies',
    namespaced: true,
    shortNames: ['netpol'],
    hasGeneration: true,
  },
  { group: networking, kind: 'ServiceCIDR', plural: 'servicecidrs', hasStatus: true },
  {
    group: 'policy',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    namespaced: true,
    shortNames: ['pdb'],
    hasStatus: true,
    hasGeneration: true,
    needsVersion: true,
  },
  { group: rbac, kind: 'ClusterRole', plural: 'clusterroles', createsOnUpdate: true },
  { group: rbac, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', createsOnUpdate: true },
  { group: rbac, kind: 'Role', plural: 'roles', namespaced: true, createsOnUpdate: true },
  {
    group: rbac,
    kind: 'RoleBinding',
    plural: 'rolebindings',
    namespaced: true,
    createsOnUpdate: true,
  },
];

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
  return rows.map((row) => ({
    group: row.group,
    version: 'v1',
    kind: row.kind,
    plural: row.plural,
    singular: row.kind.toLowerCase(),
    listKind: `${row.kind}List`,
    namespaced: row.namespaced ?? false,
    shortNames: row.shortNames ?? [],
    categories: row.categories ?? [],
    isCustom: false,
    storageVersion: 'v1',
    hasStatus: row.hasStatus ?? false,
    hasGeneration: row.hasGeneration ?? false,
    createsOnUpdate: row.createsOnUpdate ?? false,
    updatesUnconditionally: row.needsVersion !== true,
    returnsDeleted: row.returnsDeleted ?? false,
    selectableFields: row.selectableFields ?? [],
    schema: { $ref: `#/components/schemas/${definitionOf(row.group, row.kind)}` },
    resolve: resolveBuiltin,
    hasRules: false,
    ...builtinColumns(row.kind),
    kindRules: rulesOf(row.kind),
  }));
}
