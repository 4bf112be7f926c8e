/** From a body to an object of the right kind: what it says of itself, and fields nobody knows. */
import { type ApiObject, type Fields, isFields } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
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
  if (!isFields(body)) throw badRequest(`the body is no ${type.kind}`);
  const object = body as Fields;
  const wanted = apiVersionOf(type);
  if (object.kind === undefined || object.kind === '') {
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(body).slice(0, 200)}'`);
  }
  if (object.apiVersion !== wanted) {
    throw badRequest(
      `the API version in the data (${object.apiVersion ?? ''}) does not match the expected API version (${wanted})`,
    );
  }
  if (object.kind !== type.kind) refuseKind(type, object);
  if (object.metadata !== undefined && !isFields(object.metadata)) {
    throw badRequest(`metadata is no object`);
  }
  object.metadata ??= {};
  return shapeUp(type, object as ApiObject, options);
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

/** Drops what is not declared, and says so as loudly as the client asked. */
function shapeUp(type: ResourceType, object: ApiObject, options: WriteQuery): ApiObject {
  if (!type.isCustom) dropEmpty(object, type.schema, type.resolve);
  const unknown = prune(object, type.schema, type.resolve).map((path) => `unknown field "${path}"`);
  if (unknown.length > 0 && options.fieldValidation === 'Strict') {
    throw new Unreadable(type, `strict decoding error: ${unknown.join(', ')}`);
  }
  if (options.fieldValidation === 'Warn') options.warnings.push(...unknown);
  fillZeros(object.metadata, type.resolve(type.schema).properties?.metadata, type.resolve);
  // A built-in kind that cannot even be read is a bad request, not an invalid object.
  if (!type.isCustom) {
    mustRead(type, object);
    // Whoever writes a status need not say what it does not know.
    fillZeros(object.status, statusOf(type), type.resolve);
  }
  return object;
}

function statusOf({ schema, resolve }: ResourceType) {
  return resolve(schema).properties?.status;
}

function mustRead(type: ResourceType, object: ApiObject): void {
  const wrong = validate(object, type.schema, type.resolve).find(
    ({ reason }) => reason === 'FieldValueTypeInvalid',
  );
  if (wrong === undefined) return;
  const words = wrong.message.replace(/^Invalid value: /, '');
  throw new Unreadable(type, `json: cannot unmarshal ${words} into field ${wrong.field}`);
}
