/**
 * RFC 6902: all operations or none. Where the RFC and the library behind the real API server
 * differ, as the library does: to replace what is not there adds it, a copy of nothing is null.
 */
import { copyOf, type Fields, isEqual, isFields, put } from '../object.ts';
import { ApiRefusal, badRequest } from '../status.ts';

interface Operation {
  op?: string | null;
  path?: string | null;
  from?: string | null;
  value?: unknown;
}

/** As the real API server has them: without, forty copies of a copy fill any memory. */
const maxOperations = 10_000;
const maxCopiedBytes = 3 * 1024 * 1024;

export function applyJsonPatch(target: unknown, body: unknown): unknown {
  const document = new Document(copyOf(target));
  for (const operation of operationsOf(body)) document.perform(operation);
  return document.root;
}

function operationsOf(body: unknown): Operation[] {
  const patch = body ?? [];
  if (!Array.isArray(patch)) {
    throw badRequest('error decoding patch: a JSON patch is a list of operations');
  }
  for (const each of patch) {
    const isOperation =
      each === null ||
      (isFields(each) &&
        [each.op, each.path, each.from].every(
          (text) => text === undefined || text === null || typeof text === 'string',
        ));
    if (!isOperation) {
      throw badRequest(
        'error decoding patch: an operation is an object, its op and paths are text',
      );
    }
  }
  if (patch.length > maxOperations) {
    throw new ApiRefusal(
      413,
      'RequestEntityTooLarge',
      `Request entity too large: The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  }
  return patch.map((each) => (each ?? {}) as Operation);
}

class Document {
  root: unknown;
  #copiedBytes = 0;

  constructor(root: unknown) {
    this.root = root;
  }

  perform({ op, path, from, value }: Operation): void {
    if (typeof path !== 'string') throw failed(`${op} without a path`);
    switch (op) {
      case 'test':
        // What is not there equals null: how one tests for absence.
        if (!isEqual(path === '' ? this.root : this.#at(path), value ?? null)) {
          throw failed(`testing value ${path} failed`);
        }
        break;
      case 'add':
        this.#write(path, copyOf(value ?? null), true);
        break;
      case 'replace':
        if (path === '') this.#replaceWhole(value);
        else this.#write(path, copyOf(value ?? null), false);
        break;
      case 'remove':
        this.#remove(path);
        break;
      case 'copy':
        this.#write(path, this.#copy(from), true);
        break;
      case 'move': {
        const moved = this.#from('move', from);
        this.#remove(from as string);
        this.#write(path, moved, true);
        break;
      }
      default:
        throw failed(`unexpected kind: ${op}`);
    }
  }

  #replaceWhole(value: unknown): void {
    if (typeof value !== 'object' || value === null) {
      throw failed('replace operation value must be object or array');
    }
    this.root = copyOf(value);
  }

  #from(op: string, from: string | null | undefined): unknown {
    if (typeof from !== 'string' || from === '') throw failed(`${op} without from`);
    return this.#at(from);
  }

  /** What is not there is null, if only its last step is missing. */
  #at(path: string): unknown {
    const { holder, token } = this.#place(path);
    if (!Array.isArray(holder)) return step(holder, token) ?? null;
    return holder[indexIn(holder, token, holder.length - 1, path)];
  }

  #copy(from: string | null | undefined): unknown {
    const value = this.#from('copy', from);
    this.#copiedBytes += Buffer.byteLength(JSON.stringify(value));
    if (this.#copiedBytes > maxCopiedBytes) {
      const bytes = `${this.#copiedBytes}, exceeding the limit ${maxCopiedBytes}`;
      throw failed(`the accumulated size increase of copy operations is ${bytes}`);
    }
    return copyOf(value);
  }

  /** What holds the last token, and that token. */
  #place(path: string): { holder: Fields | unknown[]; token: string } {
    const way = tokens(path);
    const token = way.pop();
    const holder = way.reduce(step, this.root);
    if (token === undefined || !(Array.isArray(holder) || isFields(holder))) {
      throw failed(`operation does not apply: doc is missing path: ${path}`);
    }
    return { holder, token };
  }

  #write(path: string, value: unknown, inserts: boolean): void {
    const { holder, token } = this.#place(path);
    if (!Array.isArray(holder)) put(holder, token, value);
    else if (inserts) {
      const at = token === '-' ? holder.length : indexIn(holder, token, holder.length, path);
      holder.splice(at, 0, value);
    } else holder[indexIn(holder, token, holder.length - 1, path)] = value;
  }

  #remove(path: string): void {
    const { holder, token } = this.#place(path);
    if (Array.isArray(holder)) {
      holder.splice(indexIn(holder, token, holder.length - 1, path), 1);
    } else if (Object.hasOwn(holder, token)) delete holder[token];
    else throw failed(`remove operation does not apply: no such key: ${token}`);
  }
}

function failed(why: string): ApiRefusal {
  return new ApiRefusal(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: ${why.slice(0, 1_000)}`,
    {},
  );
}

function tokens(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) throw failed(`${path} is no JSON pointer`);
  return path
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function step(at: unknown, token: string): unknown {
  if (Array.isArray(at)) return /^\d+$/.test(token) ? at[Number(token)] : undefined;
  return isFields(at) && Object.hasOwn(at, token) ? at[token] : undefined;
}

function indexIn(list: unknown[], token: string, last: number, path: string): number {
  // A negative one counts from the end.
  const number = /^-?\d+$/.test(token) ? Number(token) : Number.NaN;
  const at = number < 0 ? number + last + 1 : number;
  if (at >= 0 && at <= last) return at;
  throw failed(`operation does not apply: no such index: ${path} of ${list.length}`);
}
