/**
 * Bodies in Kubernetes' protobuf, for the kinds whose `kubectl create …` and Go
 * clients send nothing else. Only read: answers are JSON, which all of them
 * take. A field that is not in the table of its kind is refused, not lost.
 */
import { type Fields, put } from '../object.ts';
import { unsupportedMedia } from '../verbs/patch.ts';
import {
  deleteOptionsShape,
  type Field,
  type Kind,
  one,
  protobufKinds,
  type Shape,
  shape,
} from './protobuf-kinds.ts';

/** `k8s` and a zero, before everything that is Kubernetes' protobuf. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

export function readProtobuf(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!bytes.subarray(0, 4).equals(magic)) throw unreadable();
  const typeMeta = shape(one('string', { apiVersion: 1, kind: 2 }));
  const envelope = shape(one(typeMeta, { typeMeta: 1 }), one('bytes', { raw: 2 }));
  const { typeMeta: type, raw } = decode(bytes.subarray(4), envelope) as {
    typeMeta?: { apiVersion?: string; kind?: string };
    raw?: string;
  };
  const { apiVersion = '', kind = '' } = type ?? {};
  const known =
    kind === 'DeleteOptions' ? deleteOptionsShape : protobufKinds[`${apiVersion} ${kind}`];
  if (known === undefined) throw unreadable();
  return { apiVersion, kind, ...decode(Buffer.from(raw ?? '', 'base64'), known) };
}

const unreadable = () => unsupportedMedia(['application/json', 'application/yaml']);

function decode(bytes: Buffer, { fields, dropsUnknown }: Shape): Fields {
  const found: Fields = {};
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n) throw unreadable();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = fields.find(([number]) => number === tag >> 3);
    let value: unknown;
    if ((tag & 7) === 0) value = scalar(varint(), field?.[2]);
    else if ((tag & 7) === 2) {
      const length = Number(varint());
      const part = bytes.subarray(at, at + length);
      if (part.length < length) throw unreadable();
      at += length;
      value = field === undefined ? part : partValue(part, field[2]);
    } else throw unreadable();
    if (field !== undefined) keep(found, field, value);
    else if (!dropsUnknown && !isNothing(value)) throw unreadable();
  }
  return found;
}

function scalar(value: bigint, kind: Kind | undefined): unknown {
  return kind === 'bool' ? value !== 0n : Number(BigInt.asIntN(64, value));
}

/** Go writes every field that is no pointer, also one that says nothing; so do the parts of a part. */
function isNothing(value: unknown): boolean {
  if (!Buffer.isBuffer(value)) return value === 0;
  let at = 0;
  while (at < value.length) {
    const [tag = 0, next = 1] = value.subarray(at, at + 2);
    // Only a zero, or a part that is empty itself, behind a tag of one byte.
    if (tag >= 0x80 || next !== 0 || ((tag & 7) !== 0 && (tag & 7) !== 2)) return false;
    at += 2;
  }
  return true;
}

/** Go writes what is empty; an absent field is what is meant. */
function keep(found: Fields, [, name, kind, isList]: Field, value: unknown): void {
  if (kind === 'strings' || kind === 'blobs') {
    const [key, entry] = value as [string, string];
    found[name] ??= {};
    put(found[name] as Fields, key, entry);
  } else if (isList) found[name] = [...((found[name] as unknown[]) ?? []), value];
  else if (kind === 'count' && value === 0) return;
  else if (value !== '' && value !== undefined) found[name] = value;
}

function partValue(part: Buffer, kind: Kind): unknown {
  switch (kind) {
    case 'string':
      return part.toString('utf8');
    case 'bytes':
      return part.toString('base64');
    case 'strings':
    case 'blobs': {
      const value = kind === 'blobs' ? 'bytes' : 'string';
      const { key = '', value: entry = '' } = decode(
        part,
        shape(one('string', { key: 1 }), one(value, { value: 2 })),
      );
      return [key, entry];
    }
    case 'time':
    case 'microTime': {
      const { seconds, nanos = 0 } = decode(part, shape(one('int', { seconds: 1, nanos: 2 })));
      if (seconds === undefined) return undefined;
      const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
      if (kind === 'time') return `${text}Z`;
      return `${text}.${String(Math.floor(Number(nanos) / 1000)).padStart(6, '0')}Z`;
    }
    case 'intOrString': {
      const { type, number, text } = decode(
        part,
        shape(one('int', { type: 1, number: 2 }), one('string', { text: 3 })),
      );
      return type === 1 ? text : number;
    }
    case 'int':
    case 'count':
    case 'bool':
      throw unreadable();
    default:
      return decode(part, kind);
  }
}
