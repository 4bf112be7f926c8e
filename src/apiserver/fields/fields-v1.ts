/** Sets of places to and from FieldsV1, the nested form that managedFields carry. */
import { type Fields, isFields } from '../object.ts';
import { type Place, placeOf, stepsOf, within } from './leaves.ts';

export function toFieldsV1(places: Iterable<Place>): Fields {
  const root: Fields = {};
  const members = new Set<Fields>();
  for (const place of [...places].sort()) {
    let at = root;
    for (const step of stepsOf(place)) {
      at[step] ??= {};
      at = at[step] as Fields;
    }
    members.add(at);
  }
  markMembers(root, members);
  return root;
}

/** A place with others inside says with a dot that it is meant itself too. */
function markMembers(at: Fields, members: Set<Fields>): void {
  const inner = Object.values(at) as Fields[];
  for (const each of inner) markMembers(each, members);
  if (inner.length > 0 && members.has(at)) at['.'] = {};
}

export function fromFieldsV1(fields: unknown): Set<Place> {
  const places = new Set<Place>();
  const read = (at: unknown, place: Place) => {
    if (!isFields(at)) return;
    const steps = Object.keys(at);
    if (place !== '' && (steps.length === 0 || steps.includes('.'))) places.add(place);
    for (const step of steps) if (step !== '.') read(at[step], within(place, step));
  };
  read(fields, '');
  return places;
}

/** As people read it: `.spec.ports[port=80].name`. */
export function describePlace(place: Place): string {
  return stepsOf(place)
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
].map(placeOf);

/** Nobody owns what makes the object this object. */
export function isOwnable(place: Place): boolean {
  return !unowned.some(
    (each) => place === each || (each !== 'f:metadata' && place.startsWith(`${each}\0`)),
  );
}
