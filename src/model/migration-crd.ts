import { crd, type Schema } from './crd.ts';
import { migrationMethods, migrationPhases } from './node-migration.ts';

const text = (description: string, maxLength = 253): Schema => ({
  type: 'string',
  description,
  maxLength,
});
const texts = (description: string, maxLength: number): Schema => ({
  type: 'array',
  description,
  maxItems: 64,
  'x-kubernetes-list-type': 'atomic',
  items: { type: 'string', maxLength },
});

export const nodeMigrationCrd = crd(
  'NodeMigration',
  'nodemigrations',
  ['nm'],
  {
    spec: {
      type: 'object',
      required: ['node', 'method', 'phase'],
      properties: {
        node: {
          type: 'object',
          required: ['name', 'uid'],
          properties: {
            name: text('The node that moves; the object is named after it.'),
            uid: text('Its uid before the first step.', 128),
          },
        },
        from: texts('The blocks it had.', 43),
        pools: texts('The pools that its new blocks come from.', 253),
        method: {
          type: 'string',
          description:
            'release: its agent gives the old block back. recreate: the Node is deleted and made anew.',
          enum: migrationMethods,
        },
        phase: { type: 'string', enum: migrationPhases },
        wasUnschedulable: { type: 'boolean' },
        wasAnnounced: { type: 'boolean' },
        undoUID: text('The uid of the Node that the way back begins with.', 128),
        hasReleased: {
          type: 'boolean',
          description: 'The old blocks were let go; the way back is a move of its own.',
        },
        saved: {
          type: 'object',
          description: 'What was there before, to go back to.',
          properties: {
            node: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            ciliumPodCIDRs: texts('CiliumNode.spec.ipam.podCIDRs.', 43),
          },
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        step: text('The step that is under way.', 64),
        message: text('What it waits for.', 1024),
        since: { type: 'string', format: 'date-time' },
      },
    },
    rules: [{ rule: 'self.metadata.name == self.spec.node.name', message: 'named after its node' }],
  },
  [
    { name: 'From', type: 'string', jsonPath: '.spec.from' },
    { name: 'Pools', type: 'string', jsonPath: '.spec.pools' },
    { name: 'Method', type: 'string', jsonPath: '.spec.method' },
    { name: 'Phase', type: 'string', jsonPath: '.spec.phase' },
    { name: 'Step', type: 'string', jsonPath: '.status.step' },
  ],
);
