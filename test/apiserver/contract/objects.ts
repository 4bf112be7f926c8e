/** Names that no other case uses, and the custom resource that many do. */
let serial = 0;

export function unique(prefix: string): string {
  serial += 1;
  return `${prefix}-${serial}-${Math.random().toString(36).slice(2, 7)}`;
}

export const configMap = (name: string, data: object = {}, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data,
});

export const configMaps = '/api/v1/namespaces/default/configmaps';
export const nodes = '/api/v1/nodes';
export const node = (name: string, spec: object = {}, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, ...more },
  spec,
});

const string = { type: 'string' };

/** With everything a schema can ask: limits, defaults, keyed lists, rules. */
export const widgetCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.ex.dev' },
  spec: {
    group: 'ex.dev',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', shortNames: ['wd'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Tags', type: 'string', jsonPath: '.spec.tags' },
          { name: 'Up', type: 'string', jsonPath: '.status.conditions[?(@.type=="Up")].status' },
          { name: 'First', type: 'string', jsonPath: '.spec.parts[*].name', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                description: 'What is wanted of a widget.',
                required: ['size'],
                'x-kubernetes-validations': [
                  { rule: 'self.size > 0', message: 'size must be positive' },
                  { rule: 'self.size >= oldSelf.size', message: 'a widget never shrinks' },
                  {
                    rule: "!has(self.secret) || self.secret != 'x'",
                    reason: 'FieldValueForbidden',
                    message: 'not that one',
                    fieldPath: '.secret',
                  },
                ],
                properties: {
                  size: { type: 'integer', minimum: -5, maximum: 100 },
                  mode: { ...string, enum: ['a', 'b'], default: 'a' },
                  secret: string,
                  tags: {
                    type: 'array',
                    minItems: 1,
                    maxItems: 3,
                    'x-kubernetes-list-type': 'set',
                    items: { ...string, minLength: 2, maxLength: 5, pattern: '^[a-z]+$' },
                  },
                  when: { ...string, format: 'date-time' },
                  ratio: { type: 'number' },
                  isOn: { type: 'boolean' },
                  port: { 'x-kubernetes-int-or-string': true },
                  maybe: { ...string, nullable: true },
                  open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  network: {
                    ...string,
                    maxLength: 43,
                    'x-kubernetes-validations': [
                      {
                        rule: 'isCIDR(self)',
                        messageExpression: "'\"' + self + '\" is no network'",
                      },
                    ],
                  },
                  labels: { type: 'object', additionalProperties: string },
                  parts: {
                    type: 'array',
                    maxItems: 10,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: {
                        name: string,
                        count: { type: 'integer', default: 1 },
                        note: string,
                      },
                      'x-kubernetes-validations': [
                        { rule: 'self.count == oldSelf.count', message: 'count is fixed' },
                      ],
                    },
                  },
                  plain: { type: 'array', items: string },
                },
              },
              status: {
                type: 'object',
                properties: {
                  ready: { type: 'integer' },
                  conditions: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                    items: {
                      type: 'object',
                      required: ['type', 'status'],
                      properties: { type: string, status: string },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

export const widgets = '/apis/ex.dev/v1/namespaces/default/widgets';
export const widget = (name: string, spec: object, more: object = {}) => ({
  apiVersion: 'ex.dev/v1',
  kind: 'Widget',
  metadata: { name },
  spec,
  ...more,
});
export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
