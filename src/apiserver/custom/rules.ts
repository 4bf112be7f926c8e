import type { Schema } from '../schema/schema.ts';
import type { Fault } from '../status.ts';

export function hasRules(schema: Schema): boolean {
  if (schema['x-kubernetes-validations']?.length) return true;
  const inside = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []),
  ];
  return inside.some(hasRules);
}

export function ruleFaults(_schema: Schema, _path: string): Fault[] {
  return [];
}

export function judgeByRules(_schema: Schema, _value: unknown, _old: unknown): Fault[] {
  return [];
}
