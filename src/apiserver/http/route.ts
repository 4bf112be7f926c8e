/** From a path to a resource: `/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUBRESOURCE`. */
import type { ResourceScope } from '../api.ts';
import type { Registry } from '../registry.ts';
import { badRequest } from '../status.ts';

export interface Route extends ResourceScope {
  name: string | undefined;
  subresource: string | undefined;
}

export function route(registry: Registry, path: string): Route | undefined {
  const parts = path.split('/').slice(1).map(decode);
  if (parts.at(-1) === '') parts.pop();
  const root = parts.shift();
  const group = root === 'api' ? '' : root === 'apis' ? parts.shift() : undefined;
  const version = parts.shift();
  if (group === undefined || version === undefined || parts.length === 0) return undefined;
  const find = (plural: string) => registry.find(group, version, plural);
  let namespace: string | undefined;
  // A namespace is itself a resource; only with another one behind it is it a place.
  if (parts[0] === 'namespaces' && parts.length > 2 && find(parts[2] as string)?.namespaced) {
    namespace = parts[1];
    parts.splice(0, 2);
  }
  const [plural = '', name, subresource, ...more] = parts;
  const type = find(plural);
  if (type === undefined || more.length > 0) return undefined;
  if (type.namespaced && namespace === undefined && name !== undefined) return undefined;
  return { type, namespace, name, subresource };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`not a path segment: ${part}`);
  }
}
