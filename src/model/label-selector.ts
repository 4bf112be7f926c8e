import {
  isLabelKey,
  isLabelValue,
  type LabelRequirement,
  type Labels,
  meets,
} from '../base/label-requirement.ts';
import * as field from './schema/field.ts';
import { check, ruled } from './schema/schema.ts';
import { schemaProblems, shown } from './schema/schema-problems.ts';

export type { Labels };

/**
 * metav1.LabelSelector, exactly as Kubernetes means it: all requirements are
 * ANDed; NotIn and DoesNotExist also match a node without the key; an absent or
 * empty selector selects everything.
 */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelRequirement[];
}

export const labelOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

export function selects(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return true;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labels[key] !== value) return false;
  }
  return (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels));
}

/** The requirements that the labels do not meet, in words: what is wanted, and what there is. */
export function unmetRequirements(selector: LabelSelector | undefined, labels: Labels): string[] {
  const unmet: string[] = [];
  const has = (key: string) =>
    Object.hasOwn(labels, key) ? `has ${key}=${labels[key]}` : `has no ${key}`;
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) {
    if (!selects({ matchLabels: { [key]: value } }, labels)) {
      unmet.push(`wants ${key}=${value}, ${has(key)}`);
    }
  }
  for (const requirement of selector?.matchExpressions ?? []) {
    if (selects({ matchExpressions: [requirement] }, labels)) continue;
    unmet.push(`wants ${describeRequirement(requirement)}, ${has(requirement.key)}`);
  }
  return unmet;
}

function describeRequirement({ key, operator, values = [] }: LabelRequirement): string {
  if (operator === 'Exists') return `any ${key}`;
  if (operator === 'DoesNotExist') return `no ${key}`;
  return `${key} ${operator === 'In' ? 'in' : 'not in'} (${values.join(', ')})`;
}

/** A selector in the words of `kubectl -l`; empty when it selects everything. */
export function formatSelector(selector: LabelSelector | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(
    ([key, value]) => `${key}=${value}`,
  );
  const expressions = (selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
  });
  return [...labels, ...expressions].join(',');
}

/** How many requirements a selector states: the more, the more specific. */
export function specificity(selector: LabelSelector | undefined): number {
  return (
    Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions?.length ?? 0)
  );
}

const labelValue = { type: 'string', maxLength: 63 } as const;

const expression = field.object(
  '',
  ['key', 'operator'],
  {
    key: { type: 'string', maxLength: 317 },
    operator: { type: 'string', enum: labelOperators },
    values: { type: 'array', maxItems: 256, items: labelValue },
  },
  ruled<LabelRequirement>(
    [
      {
        rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
        message: 'In and NotIn need values; Exists and DoesNotExist take none',
      },
    ],
    expressionProblems,
  ),
);

/** The schema of a field that is a label selector. */
export const labelSelector = (description: string) =>
  field.object(
    description,
    [],
    {
      matchLabels: {
        type: 'object',
        additionalProperties: labelValue,
        [check]: matchLabelsProblems,
      },
      matchExpressions: { type: 'array', maxItems: 64, items: expression },
    },
    { [check]: unknownFields },
  );

/** What is wrong with a selector, in clauses that begin with its path; empty when it is sound. */
export function selectorProblems(selector: unknown, path: string): string[] {
  if (selector === undefined || selector === null) return [];
  return schemaProblems(labelSelector(''), selector, path);
}

/** The API server would drop such a field, and the selector would select more than was meant. */
function unknownFields(selector: LabelSelector, path: string): string[] {
  const { matchLabels, matchExpressions, ...rest } = selector;
  return Object.keys(rest).map((key) => `${path}.${key} is no field of a label selector`);
}

/** The API server lets any text pass as key and value, but no node can have such a label. */
function matchLabelsProblems(labels: Labels, path: string): string[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...(isLabelKey(key) ? [] : [`${path}["${key}"] is not a label key`]),
    ...(isLabelValue(value) ? [] : [`${path}["${key}"] is ${shown(value)}, not a label value`]),
  ]);
}

function expressionProblems(requirement: LabelRequirement, path: string): string[] {
  const { key, operator } = requirement;
  const values = requirement.values ?? [];
  const needsValues = operator === 'In' || operator === 'NotIn';
  const problems = values.flatMap((value, at) =>
    isLabelValue(value) ? [] : [`${path}.values[${at}] is ${shown(value)}, not a label value`],
  );
  if (!isLabelKey(key)) problems.unshift(`${path}.key is ${shown(key)}, not a label key`);
  if (needsValues && values.length === 0) {
    problems.push(`${path}.values is missing: ${operator} needs values`);
  }
  if (!needsValues && values.length > 0) {
    problems.push(`${path}.values is given, but ${operator} takes none`);
  }
  return problems;
}
