/**
 * Bodies in Kubernetes' protobuf, for the few kinds whose `kubectl create …`
 * and Go clients send nothing else. Only read: answers are JSON, which all of
 * them take. The numbers are those of Kubernetes' generated.proto files.
 */
import { type Fields, put } from '../object.ts';
import { unsupportedMedia } from '../verbs/patch.ts';

type Kind =
  | 'string'
  | 'int'
  | 'bool'
  | 'bytes'
  | 'time'
  | 'microTime'
  | 'strings'
  | 'blobs'
  | Shape;
/** Field number, name in JSON, what it is; a list if it repeats. */
type Field = [number: number, name: string, kind: Kind, isList?: true];
interface Shape {
  fields: Field[];
}

const shape = (...fields: Field[]): Shape => ({ fields });

const owner = shape(
  [1, 'kind', 'string'],
  [3, 'name', 'string'],
  [4, 'uid', 'string'],
  [5, 'apiVersion', 'string'],
  [6, 'controller', 'bool'],
  [7, 'blockOwnerDeletion', 'bool'],
);
const meta = shape(
  [1, 'name', 'string'],
  [2, 'generateName', 'string'],
  [3, 'namespace', 'string'],
  [5, 'uid', 'string'],
  [6, 'resourceVersion', 'string'],
  [11, 'labels', 'strings'],
  [12, 'annotations', 'strings'],
  [13, 'ownerReferences', owner, true],
  [14, 'finalizers', 'string', true],
);
const reference = shape(
  [1, 'kind', 'string'],
  [2, 'namespace', 'string'],
  [3, 'name', 'string'],
  [4, 'uid', 'string'],
  [5, 'apiVersion', 'string'],
  [6, 'resourceVersion', 'string'],
  [7, 'fieldPath', 'string'],
);

const kinds: Record<string, Shape> = {
  'v1 ConfigMap': shape(
    [1, 'metadata', meta],
    [2, 'data', 'strings'],
    [3, 'binaryData', 'blobs'],
    [4, 'immutable', 'bool'],
  ),
  'v1 Event': shape(
    [1, 'metadata', meta],
    [2, 'involvedObject', reference],
    [3, 'reason', 'string'],
    [4, 'message', 'string'],
    [5, 'source', shape([1, 'component', 'string'], [2, 'host', 'string'])],
    [6, 'firstTimestamp', 'time'],
    [7, 'lastTimestamp', 'time'],
    [8, 'count', 'int'],
    [9, 'type', 'string'],
    [10, 'eventTime', 'microTime'],
    [11, 'series', shape([1, 'count', 'int'], [2, 'lastObservedTime', 'microTime'])],
    [12, 'action', 'string'],
    [13, 'related', reference],
    [14, 'reportingComponent', 'string'],
    [15, 'reportingInstance', 'string'],
  ),
  'v1 Namespace': shape(
    [1, 'metadata', meta],
    [2, 'spec', shape([1, 'finalizers', 'string', true])],
  ),
  'v1 Secret': shape(
    [1, 'metadata', meta],
    [2, 'data', 'blobs'],
    [3, 'type', 'string'],
    [4, 'stringData', 'strings'],
    [5, 'immutable', 'bool'],
  ),
  'v1 ServiceAccount': shape(
    [1, 'metadata', meta],
    [2, 'secrets', reference, true],
    [3, 'imagePullSecrets', shape([1, 'name', 'string']), true],
    [4, 'automountServiceAccountToken', 'bool'],
  ),
  'coordination.k8s.io/v1 Lease': shape(
    [1, 'metadata', meta],
    [
      2,
      'spec',
      shape(
        [1, 'holderIdentity', 'string'],
        [2, 'leaseDurationSeconds', 'int'],
        [3, 'acquireTime', 'microTime'],
        [4, 'renewTime', 'microTime'],
        [5, 'leaseTransitions', 'int'],
      ),
    ],
  ),
};

const deleteOptions = shape(
  [1, 'gracePeriodSeconds', 'int'],
  [2, 'preconditions', shape([1, 'uid', 'string'], [2, 'resourceVersion', 'string'])],
  [3, 'orphanDependents', 'bool'],
  [4, 'propagationPolicy', 'string'],
  [5, 'dryRun', 'string', true],
);

/** `k8s` and a zero, before everything that is Kubernetes' protobuf. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

export function readProtobuf(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!bytes.subarray(0, 4).equals(magic)) throw unreadable();
  const typeMeta = shape([1, 'apiVersion', 'string'], [2, 'kind', 'string']);
  const envelope = shape([1, 'typeMeta', typeMeta], [2, 'raw', 'bytes']);
  const { typeMeta: type, raw } = decode(bytes.subarray(4), envelope) as {
    typeMeta?: { apiVersion?: string; kind?: string };
    raw?: string;
  };
  const { apiVersion = '', kind = '' } = type ?? {};
  const known = kind === 'DeleteOptions' ? deleteOptions : kinds[`${apiVersion} ${kind}`];
  if (known === undefined) throw unreadable();
  return { apiVersion, kind, ...decode(Buffer.from(raw ?? '', 'base64'), known) };
}

const unreadable = () => unsupportedMedia(['application/json', 'application/yaml']);

function decode(bytes: Buffer, { fields }: Shape): Fields {
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
      value = field === undefined ? undefined : partValue(part, field[2]);
    } else throw unreadable();
    if (field !== undefined) keep(found, field, value);
  }
  return found;
}

function scalar(value: bigint, kind: Kind | undefined): unknown {
  return kind === 'bool' ? value !== 0n : Number(BigInt.asIntN(64, value));
}

/** Go writes what is empty; an absent field is what is meant. */
function keep(found: Fields, [, name, kind, isList]: Field, value: unknown): void {
  if (kind === 'strings' || kind === 'blobs') {
    const [key, entry] = value as [string, string];
    found[name] ??= {};
    put(found[name] as Fields, key, entry);
  } else if (isList) found[name] = [...((found[name] as unknown[]) ?? []), value];
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
        shape([1, 'key', 'string'], [2, 'value', value]),
      );
      return [key, entry];
    }
    case 'time':
    case 'microTime': {
      const { seconds, nanos = 0 } = decode(
        part,
        shape([1, 'seconds', 'int'], [2, 'nanos', 'int']),
      );
      if (seconds === undefined) return undefined;
      const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
      if (kind === 'time') return `${text}Z`;
      return `${text}.${String(Math.floor(Number(nanos) / 1000)).padStart(6, '0')}Z`;
    }
    case 'int':
    case 'bool':
      throw unreadable();
    default:
      return decode(part, kind);
  }
}
