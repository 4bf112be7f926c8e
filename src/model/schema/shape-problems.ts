import { objectSchema } from '../crd.ts';
import { definitions } from '../crds.ts';
import { object, type Schema, text, time } from './schema.ts';
import { isMap, schemaProblems } from './schema-problems.ts';
import { cidr } from './shared-fields.ts';

/**
 * What an API server would have refused, for objects that never met one. The
 * readers trust the types of fields; a file promises nothing: a label
 * `rack: 83` is a number in YAML and matches no selector, silently.
 *
 * Our own kinds are held to their definitions. Of the kinds of others only what
 * we read is looked at.
 */
const word = text('');
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const words = listOf(word);
const map = { type: 'object', additionalProperties: word } as const;

const metadata = object('', ['name'], {
  name: text('', { minLength: 1 }),
  uid: word,
  labels: map,
  annotations: map,
  finalizers: words,
  creationTimestamp: time(),
  deletionTimestamp: time(),
});

const foreign = (spec: Schema, status?: Schema): Schema =>
  object('', ['metadata'], { metadata, spec, ...(status === undefined ? {} : { status }) });

const many = (properties: Record<string, Schema>) => listOf(object('', [], properties));

const foreignKinds = {
  Node: foreign(
    object('', [], { podCIDR: word, podCIDRs: words }),
    object('', [], {
      addresses: many({ type: word, address: word }),
      conditions: many({ type: word, status: word, reason: word, message: word }),
    }),
  ),
  CiliumNode: foreign(object('', [], { ipam: object('', [], { podCIDRs: words }) })),
  ServiceCIDR: foreign(object('', [], { cidrs: listOf(cidr('')) })),
};

/** People write these by hand: a field that does not exist is a slip of the pen. */
const handWritten = ['IPPool', 'LoadBalancerPool', 'BGPPeer', 'BGPAdvertisement'];

export type CheckedKind = keyof typeof definitions | keyof typeof foreignKinds;

/** What is wrong with the shape of an object of that kind; empty when nothing is, or nobody knows. */
export function shapeProblems(kind: string, value: unknown): string[] {
  const schema = Object.hasOwn(schemas, kind) ? schemas[kind as CheckedKind] : undefined;
  if (schema === undefined) return [];
  const unknown = handWritten.includes(kind) ? unknownFields(kind, schema, value) : [];
  return [...unknown, ...schemaProblems(schema, value, '')];
}

const schemas = {
  ...foreignKinds,
  ...Object.fromEntries(
    Object.entries(definitions).map(([kind, definition]) => [
      kind,
      objectSchema(definition, metadata),
    ]),
  ),
} as Record<CheckedKind, Schema>;

function unknownFields(kind: string, schema: Schema, value: unknown): string[] {
  const spec = isMap(value) && isMap(value.spec) ? value.spec : {};
  const known = schema.properties?.spec?.properties ?? {};
  const strange = Object.keys(spec).filter((name) => !Object.hasOwn(known, name));
  return strange.map(
    (name) => `spec.${name} is no field of ${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`,
  );
}
