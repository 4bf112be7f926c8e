/**
 * metav1.LabelSelector, exactly as Kubernetes means it: all requirements are
 * ANDed; NotIn and DoesNotExist also match a node without the key; an absent or
 * empty selector selects everything.
 */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: Requirement[];
}

export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

export type Labels = Readonly<Record<string, string>>;

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const namePart = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const dnsPart = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const valuePart = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

export function selects(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return true;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labels[key] !== value) return false;
  }
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === 'In' && (value === undefined || !values.includes(value))) return false;
    if (operator === 'NotIn' && value !== undefined && values.includes(value)) return false;
    if (operator === 'Exists' && value === undefined) return false;
    if (operator === 'DoesNotExist' && value !== undefined) return false;
  }
  return true;
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

function describeRequirement({ key, operator, values = [] }: Requirement): string {
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

/** What is wrong with a selector, one sentence each; empty when it is sound. */
export function selectorProblems(selector: unknown): string[] {
  if (selector === undefined || selector === null) return [];
  if (typeof selector !== 'object' || Array.isArray(selector)) {
    return ['must be an object with matchLabels and matchExpressions'];
  }
  const { matchLabels, matchExpressions, ...rest } = selector as Record<string, unknown>;
  const problems = Object.keys(rest).map((key) => `has the unknown field "${key}"`);
  if (matchLabels !== undefined && matchLabels !== null) {
    if (typeof matchLabels !== 'object' || Array.isArray(matchLabels)) {
      problems.push('matchLabels must be a map of strings');
    } else {
      for (const [key, value] of Object.entries(matchLabels)) {
        problems.push(...keyProblems(key, 'matchLabels'));
        if (typeof value !== 'string' || !valuePart.test(value)) {
          problems.push(
            `matchLabels["${key}"] has the value ${JSON.stringify(value)}, not a label`,
          );
        }
      }
    }
  }
  if (matchExpressions !== undefined && matchExpressions !== null) {
    if (!Array.isArray(matchExpressions)) problems.push('matchExpressions must be a list');
    else {
      matchExpressions.forEach((expression, at) => {
        problems.push(...expressionProblems(expression, `matchExpressions[${at}]`));
      });
    }
  }
  return problems;
}

function keyProblems(key: unknown, where: string): string[] {
  const bad = [`${where} has the key ${JSON.stringify(key)}, not a label key`];
  if (typeof key !== 'string') return bad;
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  if (prefix !== undefined && (!dnsPart.test(prefix) || prefix.length > 253)) return bad;
  return namePart.test(key.slice(slash + 1)) ? [] : bad;
}

function expressionProblems(expression: unknown, where: string): string[] {
  if (typeof expression !== 'object' || expression === null) return [`${where} must be an object`];
  const { key, operator, values } = expression as Record<string, unknown>;
  const problems = keyProblems(key, where);
  if (typeof operator !== 'string' || !operators.includes(operator)) {
    const known = operators.join(', ');
    problems.push(`${where} has the operator ${JSON.stringify(operator)}, not one of ${known}`);
    return problems;
  }
  const given = values === undefined || values === null ? [] : values;
  if (!Array.isArray(given) || given.some((v) => typeof v !== 'string' || !valuePart.test(v))) {
    problems.push(`${where} has values ${JSON.stringify(values)}, not a list of labels`);
    return problems;
  }
  const needsValues = operator === 'In' || operator === 'NotIn';
  if (needsValues && given.length === 0) problems.push(`${where}: ${operator} needs values`);
  if (!needsValues && given.length > 0) problems.push(`${where}: ${operator} takes no values`);
  return problems;
}
