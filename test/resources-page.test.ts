import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { definitions } from '../src/model/crds.ts';
import type { ResourceSchema } from '../src/model/schema/schema.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/resources.md'), 'utf8');

function typeOf({ type, properties }: ResourceSchema): string {
  if (type === 'array') return 'list';
  if (properties?.matchLabels !== undefined) return 'label selector';
  return type === 'object' ? `{${Object.keys(properties ?? {}).join(', ')}}` : type;
}

function defaultOf(name: string, schema: ResourceSchema, required: readonly string[]): string {
  if (schema.default !== undefined) return `${schema.default}`;
  return required.includes(name) ? 'required' : '–';
}

describe('docs/resources.md', () => {
  test.each(['IPPool', 'LoadBalancerPool', 'BGPAdvertisement'] as const)(
    'lists every field of the spec of an %s as its schema has it',
    (kind) => {
      const [, after = ''] = page.split(`\n## ${kind}\n`);
      const [section = ''] = after.split('\n## ');
      const rows = [...section.matchAll(/^\| `(\w+)` +\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm)];
      const { properties = {}, required = [] } = definitions[kind].spec as ResourceSchema;
      expect(rows.map(([, ...cells]) => cells)).toEqual(
        Object.entries(properties).map(([name, schema]) => [
          name,
          typeOf(schema),
          defaultOf(name, schema, required),
          schema.description ?? schema.items?.description,
        ]),
      );
    },
  );

  test('names every kind', () => {
    for (const kind of Object.keys(definitions)) expect(page).toMatch(new RegExp(`\\b${kind}\\b`));
  });
});
