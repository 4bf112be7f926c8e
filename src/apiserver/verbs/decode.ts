/** From a body to an object of the right kind: what it says of itself, and fields nobody knows. */
import { type ApiObject, type Fields, isFields } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import type { Schema } from '../schema/schema.ts';
import { dropEmpty, fillZeros, prune } from '../schema/shape.ts';
import { validate } from '../schema/validate.ts';
import { ApiRefusal, badRequest, faults, invalid } from '../status.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteQuery {
  dryRun: boolean;
  fieldManager: string;
  fieldValidation: FieldValidation;
  /** Server-side apply: take fields over. */
  force: boolean;
  /** What the body says twice, in words. */
  twice?: string[];
  /** Filled by the verbs; sent as Warning headers. */
  warnings: string[];
}

/** A body that is no object of the kind, and why; a patch words it in its own way. */
export class Unreadable extends ApiRefusal {
  readonly why: string;

  constructor({ kind, version }: ResourceType, why: string) {
    super(
      400,
      'BadRequest',
      `${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`,
    );
    this.why = why;
  }
}

export function decode(type: ResourceType, body: unknown, options: WriteQuery): ApiObject {
  const object = typed(type, body);
  mustBeOf(type, object);
  // As in Go: a null is what was never said.
  object.metadata ??= {};
  if (!isFields(object.metadata)) {
    throw new Unreadable(type, `json: cannot unmarshal ${typeOf(object.metadata)} into metadata`);
  }
  return shapeUp(type, object as ApiObject, options);
}

/** An object that says of itself what it is; a built-in kind need not. */
function typed(type: ResourceType, body: unknown): Fields {
  const given = !type.isCustom && body === null ? {} : body;
  if (!isFields(given)) {
    throw new Unreadable(
      type,
      `couldn't get version/kind; json: cannot unmarshal ${typeOf(given)}`,
    );
  }
  for (const field of ['kind', 'apiVersion']) {
    given[field] ??= '';
    if (typeof given[field] === 'string') continue;
    const what = `json: cannot unmarshal ${typeOf(given[field])} into .${field} of type string`;
    throw new Unreadable(type, `couldn't get version/kind; ${what}`);
  }
  if (!type.isCustom) {
    given.kind ||= type.kind;
    given.apiVersion ||= apiVersionOf(type);
  }
  return given;
}

function mustBeOf(type: ResourceType, object: Fields): void {
  const wanted = apiVersionOf(type);
  if (object.kind === '') {
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(object).slice(0, 200)}'`);
  }
  if (object.apiVersion !== wanted) {
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${wanted})`,
    );
  }
  if (object.kind !== type.kind) refuseKind(type, object);
}

function refuseKind(type: ResourceType, object: Fields): never {
  const kind = String(object.kind);
  if (!type.isCustom) {
    throw badRequest(
      `${kind} in version "${type.version}" cannot be handled as a ${type.kind}: no kind "${kind}" is registered for version "${apiVersionOf(type)}"`,
    );
  }
  const name = String((object.metadata as Fields | undefined)?.name ?? '');
  throw invalid({ ...type, kind }, name, [faults.invalid('kind', kind, `must be ${type.kind}`)]);
}

const typeOf = (value: unknown) =>
  value === undefined ? 'nothing' : Array.isArray(value) ? 'array' : typeof value;

/** Drops what is not declared, and says so as loudly as the client asked. */
function shapeUp(type: ResourceType, object: ApiObject, options: WriteQuery): ApiObject {
  const { resolve } = type;
  const metadata = resolve(type.schema).properties?.metadata;
  if (type.isCustom) dropEmpty(object.metadata, metadata, resolve);
  else dropEmpty(object, type.schema, resolve);
  const unknown = prune(object, type.schema, resolve).map((path) => `unknown field "${path}"`);
  const odd = [...unknown, ...(options.twice ?? [])];
  if (odd.length > 0 && options.fieldValidation === 'Strict') {
    throw new Unreadable(type, `strict decoding error: ${odd.join(', ')}`);
  }
  if (options.fieldValidation === 'Warn') {
    for (const words of odd) options.warnings.push(words);
  }
  fillZeros(object.metadata, metadata, resolve);
  // What cannot even be read is a bad request, not an invalid object.
  if (type.isCustom) mustRead(type, object.metadata, metadata, 'metadata');
  else {
    mustRead(type, object, type.schema, '');
    const [fault] = type.kindRules.readFaults?.(object) ?? [];
    if (fault !== undefined) throw new Unreadable(type, `${fault.field}: ${fault.message}`);
    // Whoever writes a status need not say what it does not know.
    fillZeros(object.status, resolve(type.schema).properties?.status, resolve);
  }
  return object;
}

function mustRead(
  type: ResourceType,
  value: unknown,
  schema: Schema | undefined,
  path: string,
): void {
  const wrong = validate(value, schema ?? {}, type.resolve, path).find(
    ({ reason }) => reason === 'FieldValueTypeInvalid',
  );
  if (wrong === undefined) return;
  const words = wrong.message.replace(/^Invalid value: /, '');
  throw new Unreadable(type, `json: cannot unmarshal ${words} into field ${wrong.field}`);
}
