import { ProtobufFields } from '../../base/protobuf-fields.ts';

/**
 * Kubernetes puts every protobuf answer into an envelope: four bytes that say so,
 * then its type and its bytes (runtime.Unknown).
 */
const protobufType = 'application/vnd.kubernetes.protobuf';

/** Asked for in this order; a server that has no protobuf for a kind sends JSON. */
export const acceptProtobuf = `${protobufType}, application/json`;

const magic = Buffer.from('k8s\0', 'latin1');

export const magicLength = magic.length;

/** A decoder of one kind: from the bytes of the message to the object as JSON would have it. */
export type Decode<T> = (fields: ProtobufFields) => T;

export function isProtobuf(contentType: unknown): boolean {
  return String(contentType ?? '').startsWith(protobufType);
}

export function hasMagic(bytes: Buffer): boolean {
  return bytes.length >= magicLength && magic.compare(bytes, 0, magicLength) === 0;
}

/** The kind in an envelope, and its message. */
export function openEnvelope(bytes: Buffer): { kind: string; fields: ProtobufFields } {
  if (!hasMagic(bytes)) throw new Error('protobuf: the answer does not begin as Kubernetes does');
  const envelope = new ProtobufFields(bytes, magicLength);
  let kind = '';
  let fields = new ProtobufFields(bytes, 0, 0);
  while (envelope.next()) {
    if (envelope.number === 2) fields = envelope.inside();
    else if (envelope.number === 1) {
      const type = envelope.inside();
      while (type.next()) if (type.number === 2) kind = type.text();
    }
  }
  return { kind, fields };
}

/** metav1.Status: what is refused, and why. */
export function decodeStatus(fields: ProtobufFields): Record<string, unknown> {
  const status: Record<string, unknown> = { kind: 'Status' };
  while (fields.next()) {
    if (fields.number === 3) status.message = fields.text();
    else if (fields.number === 4) status.reason = fields.text();
    else if (fields.number === 6) status.code = fields.value;
    else if (fields.number === 5) {
      const details = fields.inside();
      while (details.next()) {
        if (details.number === 5) status.details = { retryAfterSeconds: details.value };
      }
    }
  }
  return status;
}
