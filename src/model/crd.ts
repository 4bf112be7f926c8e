/** The pieces that every custom resource definition here is made of. */
import { group, version } from './keys.ts';

export type Schema = Record<string, unknown>;

/**
 * Goes up by one with every change of a schema (a test sees to it). In a rolling
 * upgrade an old replica leaves a definition with a higher number alone.
 */
export const schemaRevision = 7;
export const revisionAnnotation = 'cadastre.dev/schema-revision';

export const string = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  ...more,
});
export const integer = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  format: 'int64',
  description,
  ...more,
});

export const cidr = (description: string): Schema =>
  string(description, {
    maxLength: 43,
    'x-kubernetes-validations': [
      { rule: 'isCIDR(self)', messageExpression: "'\"' + self + '\" is not an IPv4 or IPv6 CIDR'" },
      {
        rule: '!isCIDR(self) || string(cidr(self).masked()) == self',
        messageExpression: "'\"' + self + '\" is not canonical, or has host bits set'",
      },
    ],
  });

export const conditions: Schema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: { type: 'string', maxLength: 316 },
      status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
      reason: { type: 'string', maxLength: 1024 },
      message: { type: 'string', maxLength: 32768 },
      observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
      lastTransitionTime: { type: 'string', format: 'date-time' },
    },
  },
};

export const nodeSelector = (description: string): Schema => ({
  type: 'object',
  description,
  properties: {
    matchLabels: { type: 'object', additionalProperties: { type: 'string', maxLength: 63 } },
    matchExpressions: {
      type: 'array',
      maxItems: 64,
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: { type: 'string', maxLength: 317 },
          operator: { type: 'string', enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
          values: { type: 'array', maxItems: 256, items: { type: 'string', maxLength: 63 } },
        },
        'x-kubernetes-validations': [
          {
            rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
            message: 'In and NotIn need values; Exists and DoesNotExist take none',
          },
        ],
      },
    },
  },
});

interface Column {
  name: string;
  type: string;
  jsonPath: string;
  priority?: number;
}

export function crd(
  kind: string,
  plural: string,
  shortNames: string[],
  schema: { spec: Schema; status: Schema; rules?: object[] },
  columns: Column[],
) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { [revisionAnnotation]: `${schemaRevision}` },
    },
    spec: {
      group,
      scope: 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames,
        categories: ['cadastre'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            ...columns,
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: schema.spec,
                status: schema.status,
              },
              ...(schema.rules ? { 'x-kubernetes-validations': schema.rules } : {}),
            },
          },
        },
      ],
    },
  };
}
