import { objectSchema } from '../crd.ts';
import { definitions } from '../crds.ts';
import { objectField, type ResourceSchema, textField, timeField } from './schema.ts';
import { isJsonMap, schemaProblems } from './schema-problems.ts';
import { cidr } from './shared-fields.ts';

/**
 * What an API server would have refused, for objects that never met one. The
 * readers trust the types of fields; a file promises nothing: a label
 * `rack: 83` is a number in YAML and matches no selector, silently.
 *
 * Our own kinds are held to their definitions. Of the kinds of others only what
 * we read is looked at.
 */
const word = textField('');
const listOf = (items: ResourceSchema): ResourceSchema => ({ type: 'array', items });
const words = listOf(word);
const map = { type: 'object', additionalProperties: word } as const;

const metadata = objectField('', ['name'], {
  name: textField('', { minLength: 1 }),
  uid: word,
  labels: map,
  annotations: map,
  finalizers: words,
  creationTimestamp: timeField(),
  deletionTimestamp: timeField(),
});

const foreign = (spec: ResourceSchema, status?: ResourceSchema): ResourceSchema =>
  objectField('', ['metadata'], { metadata, spec, ...(status === undefined ? {} : { status }) });

const many = (properties: Record<string, ResourceSchema>) =>
  listOf(objectField('', [], properties));

const foreignKinds = {
  Node: foreign(
    objectField('', [], { podCIDR: word, podCIDRs: words }),
    objectField('', [], {
      addresses: many({ type: word, address: word }),
      conditions: many({ type: word, status: word, reason: word, message: word }),
    }),
  ),
  CiliumNode: foreign(objectField('', [], { ipam: objectField('', [], { podCIDRs: words }) })),
  ServiceCIDR: foreign(objectField('', [], { cidrs: listOf(cidr('')) })),
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
} as Record<CheckedKind, ResourceSchema>;

function unknownFields(kind: string, schema: ResourceSchema, value: unknown): string[] {
  const spec = isJsonMap(value) && isJsonMap(value.spec) ? value.spec : {};
  const known = schema.properties?.spec?.properties ?? {};
  const strange = Object.keys(spec).filter((name) => !Object.hasOwn(known, name));
  return strange.map(
    (name) => `spec.${name} is no field of ${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`,
  );
}
