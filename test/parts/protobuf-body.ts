/** An object of a built-in kind as the bytes a Go client would send. */
import { type Field, messageNameOf, messageOf } from '../../src/apiserver/protobuf/messages.ts';

import type { Body as Value } from '../apiserver/server.ts';

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

const part = (number: number, bytes: Buffer | string): Buffer => {
  const content = Buffer.from(bytes as Buffer);
  return Buffer.concat([varint((number << 3) | 2), varint(content.length), content]);
};
const number = (at: number, value: number): Buffer =>
  Buffer.concat([varint(at << 3), varint(value)]);

export function protobufBody(
  object: { apiVersion: string; kind: string },
  /** Of what is of no group of its own. */
  name?: string,
): Buffer {
  const { apiVersion, kind } = object;
  const type = Buffer.concat([part(1, apiVersion), part(2, kind)]);
  const raw = message(name ?? messageNameOf(apiVersion, kind), object);
  return Buffer.concat([Buffer.from('k8s\0', 'latin1'), part(1, type), part(2, raw)]);
}

function message(name: string, value: Value): Buffer {
  const special = specials[name];
  if (special !== undefined) return special(value);
  const parts: Buffer[] = [];
  for (const [at, field] of messageOf(name) ?? []) {
    const given = field.isInline || field.name === '[]' ? value : value[field.name];
    if (given === undefined) continue;
    if (field.isInline) parts.push(part(at, message(field.type, given)));
    else if (field.isList) for (const each of given) parts.push(one(at, field, each));
    else if (field.isMap) {
      for (const [key, each] of Object.entries(given)) {
        parts.push(part(at, Buffer.concat([part(1, key), one(2, field, each)])));
      }
    } else parts.push(one(at, field, given));
  }
  return Buffer.concat(parts);
}

function one(at: number, { type }: Field, value: Value): Buffer {
  switch (type) {
    case 'string':
      return part(at, value);
    case 'bytes':
      return part(at, Buffer.from(value, 'base64'));
    case 'int':
      return number(at, value);
    case 'bool':
      return number(at, value ? 1 : 0);
    case 'double': {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(value);
      return Buffer.concat([varint((at << 3) | 1), bytes]);
    }
    default:
      return part(at, message(type, value));
  }
}

const time = (text: string) => number(1, Math.floor(Date.parse(text) / 1000));
const json = (value: Value) => part(1, JSON.stringify(value));
const schema = 'apiextensions.v1.JSONSchemaProps';

const specials: Record<string, (value: Value) => Buffer> = {
  'meta.v1.Time': time,
  'meta.v1.MicroTime': (text) =>
    Buffer.concat([time(text), number(2, Number(text.slice(20, 26)) * 1000)]),
  'resource.Quantity': (text) => part(1, String(text)),
  'intstr.IntOrString': (value) =>
    typeof value === 'number'
      ? Buffer.concat([number(1, 0), number(2, value)])
      : Buffer.concat([number(1, 1), part(3, value)]),
  'runtime.RawExtension': json,
  'apiextensions.v1.JSON': json,
  [`${schema}OrArray`]: (value) => part(1, message(schema, value)),
  [`${schema}OrBool`]: (value) =>
    typeof value === 'boolean' ? number(1, Number(value)) : part(2, message(schema, value)),
};
