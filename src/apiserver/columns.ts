/** Ages and paths, as `kubectl get` shows them. */
import { ageText } from '../base/age-text.ts';
import type { ApiObject } from './object.ts';
import type { Cells, Column } from './resource.ts';

export function age(from: unknown, nowMs: number): string {
  const ms = typeof from === 'string' ? Date.parse(from) : Number.NaN;
  if (Number.isNaN(ms)) return '<unknown>';
  return nowMs - ms < -1000 ? '<invalid>' : ageText(nowMs - ms);
}

export const nameColumn: Column = { name: 'Name', type: 'string', format: 'name' };

export interface CustomColumn {
  name: string;
  type: string;
  jsonPath: string;
  priority?: number;
  format?: string;
  description?: string;
}

/** A custom resource's own columns behind its name; its age if it has none. */
export function customColumns(own: CustomColumn[] | undefined): {
  columns: Column[];
  cells: Cells;
} {
  const given = own?.length
    ? own
    : [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }];
  const read = given.map(({ jsonPath }) => jsonPathReader(jsonPath));
  return {
    columns: [
      nameColumn,
      ...given.map(({ jsonPath: _, ...column }) => ({ ...column, priority: column.priority ?? 0 })),
    ],
    cells: (object, nowMs) => [
      object.metadata.name,
      ...given.map(({ type }, at) => cell(type, (read[at] as Reader)(object)[0], nowMs)),
    ],
  };
}

function cell(type: string, value: unknown, nowMs: number): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return age(value, nowMs);
    default:
      return typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
}

type Reader = (object: ApiObject) => unknown[];
type Step = (value: unknown) => unknown[];

const piece =
  /\.((?:\\.|[^.[\]\\])+)|\['([^']*)'\]|\[(\*|-?\d+)\]|\[\?\(@\.([\w.-]+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|(\S+))\)\]/y;

/** The part of JSONPath that printer columns use: fields, indexes, `*`, and a filter by equality. */
export function jsonPathReader(path: string): Reader {
  const text = path.replace(/^\{|\}$/g, '').replace(/^\$/, '');
  const steps: Step[] = [];
  // A filter's own path is read in between: each reading has its own place.
  const next = new RegExp(piece);
  while (next.lastIndex < text.length) {
    const match = next.exec(text);
    if (match === null) return () => [];
    steps.push(stepOf(match));
  }
  return (object) => steps.reduce<unknown[]>((values, step) => values.flatMap(step), [object]);
}

function stepOf(match: RegExpExecArray): Step {
  const [, dotted, quotedName, index, filterPath, operator, ...wanted] = match;
  const name = dotted?.replace(/\\(.)/g, '$1') ?? quotedName;
  if (name === '*') return all;
  if (name !== undefined) return (value) => present((value as Record<string, unknown>)?.[name]);
  if (index === '*') return all;
  if (index !== undefined) {
    return (value) => (Array.isArray(value) ? present(value.at(Number(index))) : []);
  }
  const read = jsonPathReader(`.${filterPath}`);
  const target = wanted.find((each) => each !== undefined);
  return (value) =>
    (Array.isArray(value) ? value : []).filter(
      (each) => (String(read(each as ApiObject)[0]) === target) === (operator === '=='),
    );
}

const all: Step = (value) =>
  typeof value === 'object' && value !== null ? Object.values(value) : [];
const present = (value: unknown) => (value === undefined || value === null ? [] : [value]);
