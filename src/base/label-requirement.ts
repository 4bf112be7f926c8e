/**
 * One requirement of a Kubernetes label selector, and the text form that `kubectl -l`
 * and the query `labelSelector=` use: `rack=83,zone!=b,role in (a,b),tier notin (c),gpu,!old,n>5`.
 */
export interface LabelRequirement {
  key: string;
  /** In, NotIn, Exists, DoesNotExist; in the text form also Gt and Lt. */
  operator: string;
  values?: string[];
}

export type Labels = Readonly<Record<string, string>>;

const namePart = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const dnsPart = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** `rack`, or `example.com/rack`. */
export function isLabelKey(text: string): boolean {
  const slash = text.indexOf('/');
  const prefix = slash < 0 ? undefined : text.slice(0, slash);
  if (prefix !== undefined && (!dnsPart.test(prefix) || prefix.length > 253)) return false;
  return namePart.test(text.slice(slash + 1));
}

export function isLabelValue(text: string): boolean {
  return text === '' || namePart.test(text);
}

/** NotIn and DoesNotExist are also met where the label is absent. */
export function meets({ key, operator, values = [] }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return isWhole(value) && Number(value) > Number(values[0]);
    case 'Lt':
      return isWhole(value) && Number(value) < Number(values[0]);
    default:
      return true;
  }
}

const isWhole = (text: string | undefined) => /^-?\d+$/.test(text ?? '');

/** The requirements of a text, or the part of it that is none. */
export function parseLabelQuery(text: string): LabelRequirement[] | { wrong: string } {
  const requirements: LabelRequirement[] = [];
  for (const part of requirementsIn(text)) {
    const read = readRequirement(part);
    if (read === undefined || !isLabelKey(read.key) || !read.values?.every(isLabelValue)) {
      return { wrong: part };
    }
    requirements.push(read);
  }
  return requirements;
}

/** Commas inside brackets separate values, all others separate requirements. */
function requirementsIn(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let isInside = false;
  for (let at = 0; at <= text.length; at++) {
    const letter = text[at];
    if (letter === '(' || letter === ')') isInside = letter === '(';
    else if (letter === undefined || (letter === ',' && !isInside)) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  return parts;
}

const setForm = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const comparison = /^([^\s=!<>]+)\s*(!=|==?|[<>])\s*([^\s=!<>]*)$/;
const presence = /^(!?)\s*([^\s=!<>(),]+)$/;
const operatorOf: Record<string, string> = { '!=': 'NotIn', '>': 'Gt', '<': 'Lt' };

function readRequirement(part: string): LabelRequirement | undefined {
  const [, setKey = '', word, list] = setForm.exec(part) ?? [];
  if (list !== undefined) {
    const values = list.split(',').map((value) => value.trim());
    return { key: setKey, operator: word === 'in' ? 'In' : 'NotIn', values };
  }
  const [, comparedKey = '', sign = '', value] = comparison.exec(part) ?? [];
  if (value !== undefined) {
    if (/[<>]/.test(sign) && !/^\d+$/.test(value)) return undefined;
    return { key: comparedKey, operator: operatorOf[sign] ?? 'In', values: [value] };
  }
  const [, not, key] = presence.exec(part) ?? [];
  if (key === undefined) return undefined;
  return { key, operator: not === '' ? 'Exists' : 'DoesNotExist', values: [] };
}
