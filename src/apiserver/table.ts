/** The two forms of an object beside itself: a row of a Table, and its metadata alone. */
import type { ApiObject } from './object.ts';
import type { ResourceType } from './resource.ts';

/** How an answer is to look. */
export interface Form {
  as: 'object' | 'table' | 'metadata';
  /** What a Table row carries beside its cells. */
  includeObject: 'None' | 'Metadata' | 'Object';
  version: string;
}

export function partialMetadata(object: ApiObject): object {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: object.metadata,
  };
}

export function table(
  type: ResourceType,
  objects: ApiObject[],
  metadata: object,
  form: Form,
  nowMs: number,
  hasColumns = true,
): object {
  const carried = (object: ApiObject) => {
    if (form.includeObject === 'None') return null;
    return form.includeObject === 'Object' ? object : partialMetadata(object);
  };
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: hasColumns
      ? type.columns.map(({ name, type: kind, format, description, priority }) => ({
          name,
          type: kind,
          format: format ?? '',
          description: description ?? '',
          priority: priority ?? 0,
        }))
      : null,
    rows: objects.map((object) => ({
      cells: type.cells(object, nowMs),
      object: carried(object),
    })),
  };
}
