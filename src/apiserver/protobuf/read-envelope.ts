/**
 * Bodies in Kubernetes' protobuf, as Go clients send them for every built-in
 * kind. Only read: answers are JSON, which all of them take beside it.
 */
import { ProtobufFields } from '../../base/protobuf-fields.ts';
import { unsupportedMedia } from '../verbs/patch.ts';
import { decodeMessage } from './decode-message.ts';
import { messageNameOf, messageOf } from './messages.ts';

/** `k8s` and a zero, before everything that is Kubernetes' protobuf. */
const magic = Buffer.from('k8s\0', 'latin1');

/** Options of requests belong to every group. */
const ofEveryGroup = /^(Create|Delete|Get|List|Patch|Update)Options$/;

export function readProtobuf(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!bytes.subarray(0, magic.length).equals(magic)) {
    throw new Error('provided data does not appear to be a protobuf message');
  }
  const envelope = new ProtobufFields(bytes, magic.length);
  const { apiVersion = '', kind = '', raw = '' } = decodeMessage('runtime.Unknown', envelope);
  const name = ofEveryGroup.test(String(kind))
    ? `meta.v1.${kind}`
    : messageNameOf(String(apiVersion), String(kind));
  // Custom resources have no protobuf.
  if (messageOf(name) === undefined) {
    throw unsupportedMedia(['application/json', 'application/yaml']);
  }
  const object = new ProtobufFields(Buffer.from(String(raw), 'base64'));
  return { apiVersion, kind, ...decodeMessage(name, object) };
}
