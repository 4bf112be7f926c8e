/** RFC 6902: all operations or none. */
import { copyOf, type Fields, isEqual, isFields, put } from '../object.ts';
import { ApiRefusal, badRequest } from '../status.ts';

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

export function applyJsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch))
    throw badRequest('error decoding patch: a JSON patch is a list of operations');
  let result = copyOf(target);
  for (const each of patch as Operation[]) result = perform(result, each);
  return result;
}

function perform(root: unknown, operation: Operation): unknown {
  const { op, path } = operation;
  if (typeof path !== 'string') throw badRequest(`JSON patch: ${op} without a path`);
  switch (op) {
    case 'test':
      // What is not there equals null: how one tests for absence.
      if (!isEqual(read(root, path) ?? null, operation.value ?? null)) {
        throw failed(`testing value ${path} failed`);
      }
      return root;
    case 'add':
      return write(root, path, copyOf(operation.value), true);
    case 'replace':
      if (read(root, path) === undefined) {
        throw failed(`replace operation does not apply: doc is missing key: ${path}`);
      }
      return write(root, path, copyOf(operation.value), false);
    case 'remove':
      return remove(root, path);
    case 'copy':
      return write(root, path, copyOf(mustRead(root, operation)), true);
    case 'move': {
      const value = mustRead(root, operation);
      return write(remove(root, operation.from as string), path, value, true);
    }
    default:
      throw failed(`unexpected kind: ${op}`);
  }
}

function failed(why: string): ApiRefusal {
  return new ApiRefusal(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: ${why}`,
    {},
  );
}

function tokens(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) throw badRequest(`JSON patch: ${JSON.stringify(path)} is no pointer`);
  return path
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function step(at: unknown, token: string): unknown {
  if (Array.isArray(at)) return /^\d+$/.test(token) ? at[Number(token)] : undefined;
  return isFields(at) && Object.hasOwn(at, token) ? at[token] : undefined;
}

function read(root: unknown, path: string): unknown {
  return tokens(path).reduce(step, root);
}

function mustRead(root: unknown, { op, from }: Operation): unknown {
  if (typeof from !== 'string') throw badRequest(`JSON patch: ${op} without from`);
  const value = read(root, from);
  if (value === undefined) throw failed(`${op} operation does not apply: missing ${from}`);
  return value;
}

/** The place that holds the last token, and that token. */
function place(root: unknown, path: string): { holder: Fields | unknown[]; token: string } {
  const way = tokens(path);
  const token = way.pop() as string;
  const holder = way.reduce(step, root);
  if (!Array.isArray(holder) && !isFields(holder)) {
    throw failed(`operation does not apply: doc is missing path: ${path}`);
  }
  return { holder, token };
}

function write(root: unknown, path: string, value: unknown, inserts: boolean): unknown {
  if (path === '') return value;
  const { holder, token } = place(root, path);
  if (!Array.isArray(holder)) {
    put(holder, token, value);
    return root;
  }
  const at = token === '-' ? holder.length : Number(token);
  if (!Number.isInteger(at) || at < 0 || at > holder.length) {
    throw failed(`operation does not apply: no such index: ${path}`);
  }
  holder.splice(at, inserts ? 0 : 1, value);
  return root;
}

function remove(root: unknown, path: string): unknown {
  const { holder, token } = place(root, path);
  if (step(holder, token) === undefined) {
    throw failed(`remove operation does not apply: Unable to remove nonexistent key: ${token}`);
  }
  if (Array.isArray(holder)) holder.splice(Number(token), 1);
  else delete holder[token];
  return root;
}
