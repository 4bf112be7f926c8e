/** Label and field selectors, as a query writes them. */
import type { KubeObject } from './object.ts';
import { badRequest } from './status.ts';

export type Matches = (object: KubeObject) => boolean;

type Requirement = (labels: Record<string, string>) => boolean;

const label = '[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?';
const value = '(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?';
const inSet = new RegExp(`^(${label})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const equals = new RegExp(`^(${label})\\s*(=|==|!=)\\s*(${value})$`);
const compares = new RegExp(`^(${label})\\s*([<>])\\s*(\\d+)$`);
const exists = new RegExp(`^(!?)\\s*(${label})$`);

export function parseLabelSelector(text: string): Matches | undefined {
  if (text.trim() === '') return undefined;
  // Commas inside parentheses separate values, not requirements.
  const requirements = text
    .split(/,(?![^(]*\))/)
    .map((part) => parseRequirement(part.trim(), text));
  return ({ metadata }) => requirements.every((holds) => holds(metadata.labels ?? {}));
}

function parseRequirement(part: string, whole: string): Requirement {
  const set = inSet.exec(part);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((each) => each.trim()));
    const wanted = operator === 'in';
    return (labels) => (labels[key] === undefined ? !wanted : values.has(labels[key]) === wanted);
  }
  const equal = equals.exec(part);
  if (equal !== null) {
    const [, key = '', operator, wanted] = equal;
    return operator === '!='
      ? (labels) => labels[key] !== wanted
      : (labels) => labels[key] === wanted;
  }
  const compare = compares.exec(part);
  if (compare !== null) {
    const [, key = '', operator, number] = compare;
    return (labels) => {
      if (!/^-?\d+$/.test(labels[key] ?? '')) return false;
      const have = Number(labels[key]);
      return operator === '>' ? have > Number(number) : have < Number(number);
    };
  }
  const exist = exists.exec(part);
  if (exist !== null) {
    const [, not, key = ''] = exist;
    return (labels) => (labels[key] !== undefined) === (not === '');
  }
  throw badRequest(
    `unable to parse requirement: ${JSON.stringify(part)} of ${JSON.stringify(whole)}`,
  );
}

/** `fields` are the paths this kind can be selected by, beside its name and namespace. */
export function parseFieldSelector(text: string, fields: readonly string[]): Matches | undefined {
  if (text.trim() === '') return undefined;
  const known = ['metadata.name', 'metadata.namespace', ...fields];
  const tests = text.split(',').map((part) => {
    const match = /^([^=!]+?)(=|==|!=)([^=]*)$/.exec(part);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    const [, path = '', operator, wanted] = match;
    if (!known.includes(path)) {
      if (fields.length > 0) throw badRequest(`field label not supported: ${path}`);
      const names = known.map((each) => JSON.stringify(each)).join(', ');
      throw badRequest(`${JSON.stringify(path)} is not a known field selector: only ${names}`);
    }
    return (object: KubeObject) => (fieldText(object, path) === wanted) === (operator !== '!=');
  });
  return (object) => tests.every((holds) => holds(object));
}

function fieldText(object: KubeObject, path: string): string {
  let at: unknown = object;
  for (const name of path.split('.')) at = (at as Record<string, unknown> | undefined)?.[name];
  return at === undefined || at === null ? '' : String(at);
}
