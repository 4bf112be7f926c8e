/** What is served: the documents by which kubectl and every other client find their way. */

import type { Registry } from '../registry.ts';
import { apiVersionOf, type ResourceType, type Subresource, verbsOf } from '../resource.ts';

const status: Subresource = { name: 'status', verbs: ['get', 'patch', 'update'] };

/** In the order of their names, as the real one lists them. */
function subresourcesOf({ hasStatus, subresources }: ResourceType): Subresource[] {
  const all = hasStatus ? [...subresources, status] : [...subresources];
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function listOf(type: ResourceType, own: object): object {
  const subresources = subresourcesOf(type).map(({ name, verbs, kind }) => ({
    subresource: name,
    responseKind: kind ?? own,
    verbs,
  }));
  return subresources.length > 0 ? { subresources } : {};
}

/** Reviews: asked, answered, not kept. */
export const reviews = [
  { group: 'authentication.k8s.io', kind: 'SelfSubjectReview', plural: 'selfsubjectreviews' },
  { group: 'authentication.k8s.io', kind: 'TokenReview', plural: 'tokenreviews' },
  {
    group: 'authorization.k8s.io',
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
  },
  {
    group: 'authorization.k8s.io',
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
  },
  { group: 'authorization.k8s.io', kind: 'SubjectAccessReview', plural: 'subjectaccessreviews' },
];

interface GroupVersions {
  group: string;
  versions: string[];
}

function groups(registry: Registry): GroupVersions[] {
  const found = new Map<string, Set<string>>();
  for (const { group } of reviews) found.set(group, new Set(['v1']));
  for (const { group, version } of registry.all()) {
    if (!found.has(group)) found.set(group, new Set());
    found.get(group)?.add(version);
  }
  return [...found]
    .map(([group, versions]) => ({ group, versions: [...versions].sort(byStability) }))
    .sort((a, b) => (a.group < b.group ? -1 : 1));
}

/** v2 before v1 before v1beta1 before v1alpha1. */
function byStability(a: string, b: string): number {
  const rank = (name: string) => {
    const [, major = '0', word, minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name) ?? [];
    return [word === undefined ? 2 : word === 'beta' ? 1 : 0, Number(major), Number(minor)];
  };
  const [left, right] = [rank(a), rank(b)];
  for (const [at, value] of left.entries()) {
    const other = right[at] as number;
    if (value !== other) return other - value;
  }
  return a < b ? -1 : 1;
}

export function apiVersions(address: string): object {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  };
}

const describeGroup = ({ group, versions }: GroupVersions) => {
  const named = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: named, preferredVersion: named[0] };
};

export function apiGroups(registry: Registry): object {
  const named = groups(registry).filter(({ group }) => group !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(describeGroup) };
}

export function apiGroup(registry: Registry, name: string): object | undefined {
  const found = groups(registry).find(({ group }) => group === name);
  if (found === undefined || name === '') return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...describeGroup(found) };
}

export function apiResources(
  registry: Registry,
  group: string,
  version: string,
): object | undefined {
  const types = registry.all().filter((type) => type.group === group && type.version === version);
  const asked = version === 'v1' ? reviews.filter((review) => review.group === group) : [];
  if (types.length + asked.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: [
      ...types.flatMap((type) => [
        {
          name: type.plural,
          singularName: type.singular,
          namespaced: type.namespaced,
          kind: type.kind,
          verbs: verbsOf(type),
          ...optional(type),
        },
        ...subresourcesOf(type).map(({ name, verbs, kind }) => ({
          name: `${type.plural}/${name}`,
          singularName: '',
          namespaced: type.namespaced,
          ...(kind === undefined ? {} : { group: kind.group, version: kind.version }),
          kind: kind?.kind ?? type.kind,
          verbs,
        })),
      ]),
      ...asked.map(({ kind, plural }) => ({
        name: plural,
        singularName: kind.toLowerCase(),
        namespaced: false,
        kind,
        verbs: ['create'],
      })),
    ],
  };
}

/** In one piece, as kubectl asks for it: the core group, or all named ones. */
export function aggregated(registry: Registry, isCore: boolean): object {
  const items = groups(registry)
    .filter(({ group }) => (group === '') === isCore)
    .map(({ group, versions }) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versions.map((version) => ({
        version,
        resources: aggregatedResources(registry, group, version),
        freshness: 'Current',
      })),
    }));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  };
}

function aggregatedResources(registry: Registry, group: string, version: string): object[] {
  const types = registry.all().filter((type) => type.group === group && type.version === version);
  const asked = version === 'v1' ? reviews.filter((review) => review.group === group) : [];
  return [
    ...types.map((type) => {
      const responseKind = { group, version, kind: type.kind };
      return {
        resource: type.plural,
        responseKind,
        scope: type.namespaced ? 'Namespaced' : 'Cluster',
        singularResource: type.singular,
        verbs: verbsOf(type),
        ...optional(type),
        ...listOf(type, responseKind),
      };
    }),
    ...asked.map(({ kind, plural }) => ({
      resource: plural,
      responseKind: { group, version, kind },
      scope: 'Cluster',
      singularResource: kind.toLowerCase(),
      verbs: ['create'],
    })),
  ];
}

function optional({ shortNames, categories }: ResourceType): object {
  return {
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
  };
}
