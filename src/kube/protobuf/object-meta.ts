import { addEntry, type ProtobufFields } from '../../base/protobuf-fields.ts';
import { timeText } from '../../base/time-text.ts';
import type { StoredMeta } from '../resource.ts';

/** metav1.ObjectMeta, without the managed fields and owners, which nobody here reads. */
export function decodeMeta(fields: ProtobufFields): StoredMeta {
  const meta: StoredMeta = { name: '' };
  while (fields.next()) {
    switch (fields.number) {
      case 1:
        meta.name = fields.text();
        break;
      case 3:
        if (fields.end > fields.start) meta.namespace = fields.text();
        break;
      case 5:
        meta.uid = fields.text();
        break;
      case 6:
        meta.resourceVersion = fields.text();
        break;
      case 7:
        meta.generation = fields.value;
        break;
      case 8:
        meta.creationTimestamp = decodeTime(fields.inside());
        break;
      case 9:
        meta.deletionTimestamp = decodeTime(fields.inside());
        break;
      case 11:
        meta.labels ??= {};
        addEntry(fields, meta.labels);
        break;
      case 12:
        meta.annotations ??= {};
        addEntry(fields, meta.annotations);
        break;
      case 14:
        meta.finalizers ??= [];
        meta.finalizers.push(fields.text());
        break;
    }
  }
  return meta;
}

/** metav1.Time as JSON shows it: UTC, whole seconds. */
export function decodeTime(fields: ProtobufFields): string {
  let seconds = 0;
  while (fields.next()) if (fields.number === 1) seconds = fields.value;
  return timeText(seconds * 1000);
}
