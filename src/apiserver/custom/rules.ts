/** CEL rules in a definition: refused at registration if they cannot work. */
import type { Schema } from '../schema/schema.ts';
import { type Fault, faults } from '../status.ts';
import { compile } from './cel.ts';

export const rulesKey = 'x-kubernetes-validations';

function inside(schema: Schema): [path: string, schema: Schema][] {
  return [
    ...Object.entries(schema.properties ?? {}).map(([name, child]): [string, Schema] => [
      `.properties[${name}]`,
      child,
    ]),
    ...(schema.items === undefined ? [] : [['.items', schema.items] as [string, Schema]]),
    ...(typeof schema.additionalProperties === 'object'
      ? [['.additionalProperties', schema.additionalProperties] as [string, Schema]]
      : []),
  ];
}

export function hasRules(schema: Schema): boolean {
  return Boolean(schema[rulesKey]?.length) || inside(schema).some(([, child]) => hasRules(child));
}

/** What a definition says wrongly in its rules. */
export function ruleFaults(schema: Schema, path: string): Fault[] {
  const found: Fault[] = [];
  for (const [at, { rule, messageExpression }] of (schema[rulesKey] ?? []).entries()) {
    const here = `${path}.${rulesKey}[${at}]`;
    const sources: [string, string | undefined][] = [
      ['rule', rule],
      ['messageExpression', messageExpression],
    ];
    for (const [name, source] of sources) {
      if (source === undefined) continue;
      const made = compile(source);
      if ('complaint' in made) {
        const field = `${here}.${name}`;
        found.push(faults.invalid(field, source, `compilation failed: ${made.complaint}`));
      }
    }
  }
  return [
    ...found,
    ...inside(schema).flatMap(([name, child]) => ruleFaults(child, `${path}${name}`)),
  ];
}
