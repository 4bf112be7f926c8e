/** Sets of paths to and from FieldsV1, the nested form that managedFields carry. */
import { type Fields, isFields, put } from '../object.ts';
import { type FieldPath, pathOf, stepsOfPath, within } from './leaves.ts';

export function toFieldsV1(paths: Iterable<FieldPath>): Fields {
  const root: Fields = {};
  const members = new Set<Fields>();
  for (const path of [...paths].sort()) {
    let at = root;
    for (const step of stepsOfPath(path)) {
      if (!Object.hasOwn(at, step)) put(at, step, {});
      at = at[step] as Fields;
    }
    members.add(at);
  }
  markMembers(root, members);
  return root;
}

/** A path with others inside says with a dot that it is meant itself too. */
function markMembers(at: Fields, members: Set<Fields>): void {
  const inner = Object.values(at) as Fields[];
  for (const each of inner) markMembers(each, members);
  if (inner.length > 0 && members.has(at)) at['.'] = {};
}

export function fromFieldsV1(fields: unknown): Set<FieldPath> {
  const paths = new Set<FieldPath>();
  const read = (at: unknown, path: FieldPath) => {
    if (!isFields(at)) return;
    const steps = Object.keys(at);
    if (path !== '' && (steps.length === 0 || steps.includes('.'))) paths.add(path);
    for (const step of steps) if (isStep(step)) read(at[step], within(path, step));
  };
  read(fields, '');
  return paths;
}

/** Clients may write what they like; what names no field owns none. */
function isStep(step: string): boolean {
  if (step.includes('\0')) return false;
  if (step.startsWith('f:')) return true;
  if (!/^[kv]:/.test(step)) return false;
  try {
    const named: unknown = JSON.parse(step.slice(2));
    return step.startsWith('v:') || isFields(named);
  } catch {
    return false;
  }
}

/** As people read it: `.spec.ports[port=80].name`. */
export function describePath(path: FieldPath): string {
  return stepsOfPath(path)
    .map((step) => {
      const rest = step.slice(2);
      if (step.startsWith('f:')) return `.${rest}`;
      if (step.startsWith('v:')) return `[=${rest}]`;
      const key = JSON.parse(rest) as Fields;
      const pairs = Object.entries(key).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
      return `[${pairs.join(',')}]`;
    })
    .join('');
}

const unowned = [
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'name',
    'namespace',
    'generateName',
    'uid',
    'resourceVersion',
    'generation',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'selfLink',
    'managedFields',
  ].map((name) => ['f:metadata', `f:${name}`]),
].map(pathOf);

/** Nobody owns what makes the object this object. */
export function isOwnable(path: FieldPath): boolean {
  return !unowned.some(
    (each) => path === each || (each !== 'f:metadata' && path.startsWith(`${each}\0`)),
  );
}
