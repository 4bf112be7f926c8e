/** From the schema of a resource to the CustomResourceDefinition that the API server gets. */
import { group, version } from './keys.ts';
import type { check, ResourceSchema } from './schema/schema.ts';

/** In a rolling upgrade an old replica leaves a definition with a higher revision alone. */
export const revisionAnnotation = 'cadastre.dev/schema-revision';

/** Where conditions say whether the object is in order, for columns. */
export const readyStatus = '.status.conditions[?(@.type=="Ready")].status';
export const readyReason = '.status.conditions[?(@.type=="Ready")].reason';

/** A custom resource of ours: its schema, and how `kubectl get` shows it. */
export interface ResourceDefinition {
  resource: { kind: string; plural: string };
  shortName: string;
  /**
   * Goes up by one with every change of the definition, and the digest with it:
   * crds-revision.test.ts says what it has to be.
   */
  revision: number;
  digest: string;
  spec: ResourceSchema;
  status: ResourceSchema;
  /** Rules over the whole object. */
  rules?: Pick<ResourceSchema, 'x-kubernetes-validations' | typeof check>;
  columns: Column[];
}

interface Column {
  name: string;
  type: string;
  jsonPath: string;
  priority?: number;
}

/** The schema of the whole object; `metadata` is the API server's own. */
export function objectSchema(
  { spec, status, rules }: Pick<ResourceDefinition, 'spec' | 'status' | 'rules'>,
  metadata: ResourceSchema = { type: 'object' },
): ResourceSchema {
  const [apiVersion, kind] = [{ type: 'string' }, { type: 'string' }] as const;
  const properties = { apiVersion, kind, metadata, spec, status };
  return { type: 'object', required: ['spec'], properties, ...rules };
}

export function crd(definition: ResourceDefinition) {
  const { kind, plural } = definition.resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { [revisionAnnotation]: `${definition.revision}` },
    },
    spec: {
      group,
      scope: 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [definition.shortName],
        categories: ['cadastre'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            ...definition.columns,
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          schema: { openAPIV3Schema: objectSchema(definition) },
        },
      ],
    },
  };
}
