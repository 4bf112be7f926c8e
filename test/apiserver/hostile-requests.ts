/**
 * Requests that nobody should send to an API server: every verb, body, patch and query with
 * something wrong in it. Pure: the same seed gives the same requests. Each names what must be
 * there before it is sent, so that it can be sent to any server that serves `widgetCrd`.
 */
import {
  configMap,
  configMaps,
  crds,
  node,
  nodes,
  widget,
  widgetCrd,
  widgets,
} from './contract/objects.ts';
import { deleteBodies, jsonPatches, queries, texts, values } from './hostile-bodies.ts';

export interface HostileRequest {
  /** What is wrong with it; the same in every run. */
  title: string;
  method: string;
  path: string;
  type?: string;
  body?: string | Buffer;
  /** Objects to POST first. */
  before: { path: string; body: object }[];
}

interface Kind {
  name: string;
  path: string;
  good: (name: string) => object;
  fields: string[];
  patchTypes: string[];
}

const metadata = [
  'name',
  'namespace',
  'generateName',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'managedFields',
].map((field) => `metadata.${field}`);

const fields = ['apiVersion', 'kind', 'metadata', ...metadata];
const [json, merge, strategic, apply] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
] as const;

const crdNamed = (name: string) => {
  const plural = `p${name.replaceAll('-', '')}`;
  const names = { kind: `K${plural}`, plural };
  return {
    ...widgetCrd,
    metadata: { name: `${plural}.hostile.dev` },
    spec: { ...widgetCrd.spec, group: 'hostile.dev', names },
  };
};

const kinds: Kind[] = [
  {
    name: 'ConfigMap',
    path: configMaps,
    good: (name) => configMap(name, { a: '1' }, { labels: { a: 'b' } }),
    fields: [...fields, 'data', 'data.a', 'binaryData', 'immutable'],
    patchTypes: [merge, strategic, apply],
  },
  {
    name: 'Node',
    path: nodes,
    good: (name) => node(name),
    fields: [...fields, 'spec', 'spec.podCIDR', 'spec.podCIDRs', 'spec.taints', 'status'],
    patchTypes: [merge, strategic, apply],
  },
  {
    name: 'Widget',
    path: widgets,
    good: (name) => widget(name, { size: 1, labels: {}, open: {} }),
    fields: [
      ...fields,
      ...['spec', 'spec.size', 'spec.mode', 'spec.tags', 'spec.when', 'spec.ratio', 'spec.port'],
      ...['spec.open', 'spec.network', 'spec.labels', 'spec.parts', 'spec.plain', 'status'],
    ],
    patchTypes: [merge, apply],
  },
  {
    name: 'CustomResourceDefinition',
    path: crds,
    good: crdNamed,
    fields: [
      ...['spec', 'spec.group', 'spec.scope', 'spec.names', 'spec.names.kind', 'spec.names.plural'],
      ...['spec.versions', 'spec.conversion', 'status', 'metadata', 'metadata.labels'],
      ...[
        'name',
        'schema',
        'schema.openAPIV3Schema',
        'subresources',
        'additionalPrinterColumns',
      ].map((field) => `spec.versions.0.${field}`),
      ...['type', 'properties', 'required', 'x-kubernetes-validations', 'items', 'allOf'].map(
        (field) => `spec.versions.0.schema.openAPIV3Schema.${field}`,
      ),
    ],
    patchTypes: [],
  },
];

/** The object with the field replaced by a piece of text, which may be no JSON at all. */
function withField(object: object, path: string, text: string): string {
  const copy = structuredClone(object);
  const names = path.split('.');
  const last = names.pop() as string;
  let at = copy as Record<string, unknown>;
  for (const name of names) {
    at[name] ??= {};
    at = at[name] as Record<string, unknown>;
  }
  at[last] = '@@';
  return JSON.stringify(copy).replace('"@@"', () => text);
}

type Made = Omit<HostileRequest, 'title' | 'before'> & { needsObject: boolean };

const nameOf = (object: object) => (object as { metadata: { name: string } }).metadata.name;

function writeOf(kind: Kind, how: string, name: string, body: string): Made {
  const target = `${kind.path}/${nameOf(kind.good(name))}`;
  if (how === 'POST') return { method: how, path: kind.path, body, needsObject: false };
  if (how === 'PUT') return { method: how, path: target, body, needsObject: true };
  if (how === 'PUT status') {
    return { method: 'PUT', path: `${target}/status`, body, needsObject: true };
  }
  const path = how === apply ? `${target}?fieldManager=hostile` : target;
  return { method: 'PATCH', path, type: how, body, needsObject: true };
}

const waysOf = (kind: Kind) => [
  'POST',
  'PUT',
  ...(kind.name === 'ConfigMap' ? [] : ['PUT status']),
  ...kind.patchTypes,
];

/** Every request there is: thousands. `title` is unique. */
function* every(): Generator<{ title: string; kind: Kind; make: (name: string) => Made }> {
  for (const kind of kinds) {
    for (const how of waysOf(kind)) {
      for (const field of kind.fields) {
        for (const [what, text] of Object.entries(values)) {
          yield {
            title: `${kind.name}: ${how}, ${field} is ${what}`,
            kind,
            make: (name) => writeOf(kind, how, name, withField(kind.good(name), field, text)),
          };
        }
      }
    }
    if (kind.name === 'CustomResourceDefinition') continue;
    for (const how of waysOf(kind)) {
      for (const [what, text] of Object.entries(texts)) {
        yield {
          title: `${kind.name}: ${how}, the body is ${what}`,
          kind,
          make: (name) => ({ ...writeOf(kind, how, name, ''), body: text }),
        };
      }
    }
    for (const [what, patch] of Object.entries(jsonPatches)) {
      const body = typeof patch === 'string' ? patch : JSON.stringify(patch);
      yield {
        title: `${kind.name}: a JSON patch, ${what}`,
        kind,
        make: (name) => writeOf(kind, json, name, body),
      };
    }
    for (const [what, body] of Object.entries(deleteBodies)) {
      yield {
        title: `${kind.name}: DELETE with ${what}`,
        kind,
        make: (name) => ({
          method: 'DELETE',
          path: `${kind.path}/${name}`,
          body,
          needsObject: true,
        }),
      };
    }
    for (const query of queries) {
      for (const [method, isOne] of [
        ['GET', false],
        ['GET', true],
        ['DELETE', true],
      ] as const) {
        yield {
          title: `${kind.name}: ${method} of ${isOne ? 'one' : 'all'}, ?${query.slice(0, 80)}`,
          kind,
          make: (name) => ({
            method,
            path: `${kind.path}${isOne ? `/${name}` : ''}?${query}`,
            needsObject: isOne,
          }),
        };
      }
    }
  }
}

/** Small and good enough to draw by; the same everywhere. */
function drawing(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` of them, drawn by `seed`; all of them if there are no more. */
export function hostileRequests(seed: number, count: number): HostileRequest[] {
  const random = drawing(seed);
  const all = [...every()];
  for (let at = 0; at < Math.min(count, all.length - 1); at++) {
    const other = at + Math.floor(random() * (all.length - at));
    [all[at], all[other]] = [all[other] as (typeof all)[0], all[at] as (typeof all)[0]];
  }
  return all.slice(0, count).map(({ title, kind, make }, at) => {
    const name = `hostile-${seed}-${at}`;
    const { needsObject, ...request } = make(name);
    return {
      title,
      ...request,
      before: needsObject ? [{ path: kind.path, body: kind.good(name) }] : [],
    };
  });
}
