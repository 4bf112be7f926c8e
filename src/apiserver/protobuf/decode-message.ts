/**
 * From a message in protobuf to the object that JSON would have: what Go's
 * types do on the way from the one to the other. Fields that are not in the
 * table are stepped over, as Go does. The bytes are a client's: how deep they
 * may nest is limited, every length is checked by the reader.
 */
import { ProtobufFields } from '../../base/protobuf-fields.ts';
import { type Fields, put } from '../object.ts';
import { type Field, messageOf } from './messages.ts';
import { specialValue } from './special-values.ts';

/** A schema within a schema is the deepest there is; each level of it is three messages. */
const maxDepth = 500;

export function decodeMessage(
  name: string,
  fields: ProtobufFields,
  into: Fields = {},
  depth = 0,
): Fields {
  const message = messageOf(name);
  if (message === undefined) throw new Error(`protobuf: no message ${name} is known`);
  if (depth > maxDepth) throw new Error('protobuf: exceeded max depth');
  while (fields.next()) {
    const field = message.get(fields.number);
    if (field !== undefined) readField(field, fields, into, depth);
  }
  return into;
}

function readField(field: Field, fields: ProtobufFields, into: Fields, depth: number): void {
  const { name, type } = field;
  if (field.isInline) {
    decodeMessage(type, mustBeBytes(field, fields).inside(), into, depth + 1);
  } else if (field.isMap) {
    into[name] ??= {};
    readEntry(field, mustBeBytes(field, fields).inside(), into[name] as Fields, depth);
  } else if (field.isList) {
    into[name] ??= [];
    (into[name] as unknown[]).push(readValue(field, fields, depth) ?? null);
  } else {
    const before = into[name];
    const value = readValue(field, fields, depth, before as Fields | undefined);
    if (value === undefined || (field.omitsZero && isZero(value))) delete into[name];
    else put(into, name, value);
  }
}

function readEntry(field: Field, entry: ProtobufFields, into: Fields, depth: number): void {
  let key = '';
  let value: unknown;
  while (entry.next()) {
    if (entry.number === 1) key = mustBeBytes(field, entry).text();
    else if (entry.number === 2) value = readValue(field, entry, depth);
  }
  // Without a value it is the zero of its type.
  const zero = () => (field.type.includes('.') ? readPart(field.type, nothing(), depth + 1) : '');
  put(into, key, value ?? zero() ?? null);
}

const nothing = () => new ProtobufFields(Buffer.alloc(0));

function readValue(field: Field, fields: ProtobufFields, depth: number, before?: Fields): unknown {
  switch (field.type) {
    case 'string':
      return mustBeBytes(field, fields).text();
    case 'bytes':
      return fields.bytes.toString('base64', mustBeBytes(field, fields).start, fields.end);
    case 'int':
      return mustBeOfType(0, field, fields).signed();
    case 'bool':
      return mustBeOfType(0, field, fields).value !== 0;
    case 'double':
      return fields.bytes.readDoubleLE(mustBeOfType(1, field, fields).start);
    default:
      return readPart(field.type, mustBeBytes(field, fields).inside(), depth + 1, before);
  }
}

function readPart(type: string, inside: ProtobufFields, depth: number, before?: Fields): unknown {
  const special = specialValue(type);
  if (special === undefined) return decodeMessage(type, inside, before, depth);
  return special(decodeMessage(type, inside, {}, depth));
}

function isZero(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === '' || value === 0 || value === false;
}

const mustBeBytes = (field: Field, fields: ProtobufFields) => mustBeOfType(2, field, fields);

function mustBeOfType(wireType: number, { name }: Field, fields: ProtobufFields): ProtobufFields {
  if (fields.wireType === wireType) return fields;
  throw new Error(`protobuf: wrong wireType = ${fields.wireType} for field ${name}`);
}
