/** Label and field selectors, as a query writes them. */
import { meets, parseLabelQuery } from '../base/label-requirement.ts';
import type { ApiObject } from './object.ts';
import { badRequest } from './status.ts';

export type Matches = (object: ApiObject) => boolean;

export function parseLabelSelector(text: string): Matches | undefined {
  if (text.trim() === '') return undefined;
  const requirements = parseLabelQuery(text);
  if ('wrong' in requirements) {
    const [part, whole] = [requirements.wrong, text].map((each) => JSON.stringify(each));
    throw badRequest(`unable to parse requirement: ${part} of ${whole}`);
  }
  return ({ metadata }) => requirements.every((one) => meets(one, metadata.labels ?? {}));
}

/**
 * `fields` are the paths this kind can be selected by, beside its name and
 * namespace; `zeroOf` says what one is selected by where it is not set.
 */
export function parseFieldSelector(
  text: string,
  fields: readonly string[],
  zeroOf: (path: string) => string = () => '',
): Matches | undefined {
  if (text.trim() === '') return undefined;
  const known = ['metadata.name', 'metadata.namespace', ...fields];
  // A comma, an equals sign or a backslash of a value has a backslash before it.
  const parts = (text.match(/(?:\\.|[^,\\])+/g) ?? []).filter((part) => part !== '=');
  const tests = parts.map((part) => {
    const match = /^([^=!]+)(!=|==?)((?:\\.|[^=\\])*)$/.exec(part);
    if (match === null)
      throw badRequest(`invalid selector: can't understand '${part.slice(0, 100)}'`);
    const [, path = '', operator, escaped = ''] = match;
    const wanted = escaped.replaceAll(/\\(.)/g, '$1');
    if (!known.includes(path)) {
      if (fields.length > 0) throw badRequest(`field label not supported: ${path}`);
      const names = known.map((each) => JSON.stringify(each)).join(', ');
      throw badRequest(`${JSON.stringify(path)} is not a known field selector: only ${names}`);
    }
    return (object: ApiObject) =>
      (fieldText(object, path, zeroOf) === wanted) === (operator !== '!=');
  });
  return (object) => tests.every((holds) => holds(object));
}

function fieldText(object: ApiObject, path: string, zeroOf: (path: string) => string): string {
  let at: unknown = object;
  for (const name of path.split('.')) at = (at as Record<string, unknown> | undefined)?.[name];
  return at === undefined || at === null ? zeroOf(path) : String(at);
}
