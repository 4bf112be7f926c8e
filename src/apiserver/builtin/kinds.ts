/**
 * The built-in kinds. To add one: a row here, its schema by
 * `UPDATE_SCHEMAS=1` (test/apiserver/real.test.ts), and columns if `kubectl get`
 * should show more than its age.
 */
import type { Conversion, KindRules, ResourceType, Subresource } from '../resource.ts';
import { resolver, type Schema } from '../schema/schema.ts';
import { autoscalerV1 } from './autoscaler-v1.ts';
import { builtinColumns } from './columns.ts';
import { withDefaults } from './defaults.ts';
import { eventsV1 } from './events-v1.ts';
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
  /** Its version stands behind it, if it is not v1. */
  group: string,
  kind: string,
  plural: string,
  shortNames: string[],
  traits: Trait[],
  fields?: SelectableFields,
];

const core = '';
const admission = 'admissionregistration.k8s.io';
const eventGroup = 'events.k8s.io';
const extensions = 'apiextensions.k8s.io';
const autoscaler = 'HorizontalPodAutoscaler';
const crd = 'CustomResourceDefinition';
const csr = 'CertificateSigningRequest';
const levels = 'PriorityLevelConfiguration';
const policyBinding = 'ValidatingAdmissionPolicyBinding';
const templates = 'ResourceClaimTemplate';
const flowcontrol = 'flowcontrol.apiserver.k8s.io';
const networking = 'networking.k8s.io';
const rbac = 'rbac.authorization.k8s.io';
const devices = 'resource.k8s.io';
const storage = 'storage.k8s.io';

const workload: Trait[] = ['namespaced', 'hasStatus', 'hasGeneration'];
const listed: Trait[] = ['namespaced', 'createsOnUpdate'];
const served: Trait[] = ['namespaced', 'hasStatus', 'returnsDeleted'];
const defined: Trait[] = ['hasStatus', 'hasGeneration', 'needsVersion'];
const configured: Trait[] = ['hasGeneration', 'needsVersion'];
const scaled: Trait[] = ['namespaced', 'hasStatus'];
const attached: Trait[] = ['hasStatus', 'needsVersion', 'returnsDeleted'];

const ofObject = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
const eventFields = [
  ...ofObject.map((field) => `involvedObject.${field}`),
  ...['reason', 'reportingComponent', 'type'],
];
const sliceFields = ['spec.nodeName', 'spec.driver'];
const podFields = [
  ...['spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName'],
  ...['spec.hostNetwork', 'status.phase', 'status.podIP', 'status.nominatedNodeName'],
];

const rows: Row[] = [
  [core, 'ConfigMap', 'configmaps', ['cm'], ['namespaced']],
  [core, 'Endpoints', 'endpoints', ['ep'], listed],
  [core, 'Event', 'events', ['ev'], listed, eventFields],
  [core, 'LimitRange', 'limitranges', ['limits'], listed],
  [core, 'Namespace', 'namespaces', ['ns'], ['hasStatus', 'returnsDeleted'], ['status.phase']],
  [core, 'Node', 'nodes', ['no'], ['hasStatus'], ['spec.unschedulable']],
  [core, 'PersistentVolume', 'persistentvolumes', ['pv'], ['hasStatus', 'returnsDeleted']],
  [core, 'PersistentVolumeClaim', 'persistentvolumeclaims', ['pvc'], served],
  [core, 'Pod', 'pods', ['po'], [...workload, 'returnsDeleted'], podFields],
  [core, 'PodTemplate', 'podtemplates', [], ['namespaced', 'hasGeneration', 'returnsDeleted']],
  [core, 'ReplicationController', 'replicationcontrollers', ['rc'], workload, ['status.replicas']],
  [core, 'ResourceQuota', 'resourcequotas', ['quota'], served],
  [core, 'Secret', 'secrets', [], ['namespaced'], ['type']],
  [core, 'Service', 'services', ['svc'], served, ['spec.clusterIP', 'spec.type']],
  [core, 'ServiceAccount', 'serviceaccounts', ['sa'], ['namespaced', 'returnsDeleted']],
  [admission, 'MutatingAdmissionPolicy', 'mutatingadmissionpolicies', [], configured],
  [admission, 'MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings', [], configured],
  [admission, 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', [], configured],
  [admission, 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', [], defined],
  [admission, policyBinding, `${policyBinding.toLowerCase()}s`, [], configured],
  [admission, 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', [], configured],
  [extensions, crd, `${crd.toLowerCase()}s`, ['crd', 'crds'], defined],
  ['apiregistration.k8s.io', 'APIService', 'apiservices', [], ['hasStatus', 'needsVersion']],
  ['apps', 'ControllerRevision', 'controllerrevisions', [], ['namespaced']],
  ['apps', 'DaemonSet', 'daemonsets', ['ds'], workload],
  ['apps', 'Deployment', 'deployments', ['deploy'], workload],
  ['apps', 'ReplicaSet', 'replicasets', ['rs'], workload, ['status.replicas']],
  ['apps', 'StatefulSet', 'statefulsets', ['sts'], workload],
  ['autoscaling/v2', autoscaler, 'horizontalpodautoscalers', ['hpa'], scaled],
  ['autoscaling', autoscaler, 'horizontalpodautoscalers', ['hpa'], scaled],
  ['batch', 'CronJob', 'cronjobs', ['cj'], workload],
  ['batch', 'Job', 'jobs', [], workload, ['status.successful']],
  [
    'certificates.k8s.io',
    csr,
    `${csr.toLowerCase()}s`,
    ['csr'],
    ['hasStatus'],
    ['spec.signerName'],
  ],
  ['coordination.k8s.io', 'Lease', 'leases', [], [...listed, 'needsVersion']],
  ['discovery.k8s.io', 'EndpointSlice', 'endpointslices', [], ['namespaced', 'hasGeneration']],
  [eventGroup, 'Event', 'events', ['ev'], listed, ['reason', 'type']],
  [flowcontrol, 'FlowSchema', 'flowschemas', [], ['hasStatus', 'hasGeneration']],
  [flowcontrol, levels, `${levels.toLowerCase()}s`, [], ['hasStatus', 'hasGeneration']],
  [networking, 'Ingress', 'ingresses', ['ing'], workload],
  [networking, 'IngressClass', 'ingressclasses', [], ['hasGeneration']],
  [networking, 'IPAddress', 'ipaddresses', ['ip'], ['hasGeneration']],
  [networking, 'NetworkPolicy', 'networkpolicies', ['netpol'], ['namespaced', 'hasGeneration']],
  [networking, 'ServiceCIDR', 'servicecidrs', [], ['hasStatus']],
  ['node.k8s.io', 'RuntimeClass', 'runtimeclasses', [], []],
  ['policy', 'PodDisruptionBudget', 'poddisruptionbudgets', ['pdb'], ['namespaced', ...defined]],
  [rbac, 'ClusterRole', 'clusterroles', [], ['createsOnUpdate']],
  [rbac, 'ClusterRoleBinding', 'clusterrolebindings', [], ['createsOnUpdate']],
  [rbac, 'Role', 'roles', [], listed],
  [rbac, 'RoleBinding', 'rolebindings', [], listed],
  [devices, 'DeviceClass', 'deviceclasses', [], ['hasGeneration', 'returnsDeleted']],
  [devices, 'ResourceClaim', 'resourceclaims', [], served],
  [devices, templates, `${templates.toLowerCase()}s`, [], ['namespaced', 'returnsDeleted']],
  [
    devices,
    'ResourceSlice',
    'resourceslices',
    [],
    ['hasGeneration', 'returnsDeleted'],
    sliceFields,
  ],
  ['scheduling.k8s.io', 'PriorityClass', 'priorityclasses', ['pc'], ['hasGeneration']],
  [storage, 'CSIDriver', 'csidrivers', [], ['needsVersion', 'returnsDeleted']],
  [storage, 'CSINode', 'csinodes', [], ['needsVersion', 'returnsDeleted']],
  [storage, 'CSIStorageCapacity', 'csistoragecapacities', [], ['namespaced', 'needsVersion']],
  [storage, 'StorageClass', 'storageclasses', ['sc'], ['returnsDeleted']],
  [storage, 'VolumeAttachment', 'volumeattachments', [], attached],
  [storage, 'VolumeAttributesClass', 'volumeattributesclasses', ['vac'], ['returnsDeleted']],
];

function groupVersionOf([groupVersion]: Row): { group: string; version: string } {
  const [group = '', version = 'v1'] = groupVersion.split('/');
  return { group, version };
}

export const builtinKinds = rows.map((row) => ({ ...groupVersionOf(row), kind: row[1] }));

/** What is kept in another form than it is served in. */
const conversions: Readonly<Record<string, Conversion>> = {
  [`autoscaling/v1 ${autoscaler}`]: autoscalerV1,
  [`${eventGroup}/v1 Event`]: eventsV1,
};

/** What `kubectl get all` lists. */
const all = ['all'];
const categories: Readonly<Record<string, string[]>> = {
  CronJob: all,
  DaemonSet: all,
  Deployment: all,
  [autoscaler]: all,
  Job: all,
  Pod: all,
  ReplicaSet: all,
  ReplicationController: all,
  Service: all,
  StatefulSet: all,
  [crd]: ['api-extensions'],
  APIService: ['api-extensions'],
  MutatingAdmissionPolicy: ['api-extensions'],
  MutatingAdmissionPolicyBinding: ['api-extensions'],
  MutatingWebhookConfiguration: ['api-extensions'],
  ValidatingAdmissionPolicy: ['api-extensions'],
  ValidatingAdmissionPolicyBinding: ['api-extensions'],
  ValidatingWebhookConfiguration: ['api-extensions'],
};

export const builtinDefinitions = openUp(definitions as unknown as Record<string, Schema>);

/** What the document calls an object and means anything. */
function openUp(all: Record<string, Schema>): Record<string, Schema> {
  const open: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
  const extensions = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';
  const objectMeta = all[`${meta}.ObjectMeta`];
  const { creationTimestamp } = objectMeta?.properties ?? {};
  return {
    ...all,
    // The only words: what `kubectl explain` says of every kind, custom ones too.
    [`${meta}.ObjectMeta`]: {
      ...objectMeta,
      description: "Standard object's metadata: its name, labels, owners and so on.",
      properties: {
        ...objectMeta?.properties,
        creationTimestamp: {
          ...creationTimestamp,
          description:
            'CreationTimestamp is a timestamp of the server, set when it stores a new object.',
        },
      },
    },
    [`${meta}.FieldsV1`]: open,
    'io.k8s.apimachinery.pkg.runtime.RawExtension': {},
    // A schema inside an object is data: judged when the resource is registered.
    [`${extensions}.JSONSchemaProps`]: open,
  };
}

export const resolveBuiltin = resolver(withDefaults(builtinDefinitions));
export const metadataSchema: Schema = {
  $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
};

interface WithKinds extends Schema {
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

/** The name of a built-in kind's definition. */
function definitionOf(group: string, version: string, kind: string): string {
  for (const [name, schema] of Object.entries(builtinDefinitions)) {
    const kinds = (schema as WithKinds)['x-kubernetes-group-version-kind'] ?? [];
    const [of] = kinds;
    if (of?.group === group && of.version === version && of.kind === kind) return name;
  }
  throw new Error(`no schema for ${kind} of ${group}`);
}

/** Of two versions the one that is named first is kept. */
function storedVersionOf(group: string, kind: string): string {
  const first = builtinKinds.find((each) => each.group === group && each.kind === kind);
  return first?.version ?? 'v1';
}

export function builtinTypes(
  rulesOf: (kind: string) => KindRules,
  subresources: Readonly<Record<string, readonly Subresource[]>>,
): ResourceType[] {
  return rows.map((row) => {
    const [, kind, plural, shortNames, traits, fields = []] = row;
    const { group, version } = groupVersionOf(row);
    const is = (trait: Trait) => traits.includes(trait);
    const conversion = conversions[`${group}/${version} ${kind}`];
    return {
      group,
      version,
      kind,
      plural,
      singular: kind.toLowerCase(),
      listKind: `${kind}List`,
      namespaced: is('namespaced'),
      shortNames,
      categories: categories[kind] ?? [],
      isCustom: false,
      storageVersion: conversion?.collection === undefined ? storedVersionOf(group, kind) : '',
      ...(conversion === undefined ? {} : { conversion }),
      hasStatus: is('hasStatus'),
      hasGeneration: is('hasGeneration'),
      createsOnUpdate: is('createsOnUpdate'),
      updatesUnconditionally: !is('needsVersion'),
      returnsDeleted: is('returnsDeleted'),
      selectableFields: [...fields],
      schema: { $ref: `#/components/schemas/${definitionOf(group, version, kind)}` },
      resolve: resolveBuiltin,
      hasRules: false,
      subresources: subresources[plural] ?? [],
      ...builtinColumns(conversion?.collection === undefined ? kind : ''),
      kindRules: conversion?.collection === undefined ? rulesOf(kind) : {},
    };
  });
}
