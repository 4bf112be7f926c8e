/**
 * Refusals, in the words and numbers that clients of Kubernetes look for. A
 * ApiRefusal is thrown where the request is judged and becomes the answer.
 */
export interface Cause {
  reason: string;
  message: string;
  field?: string;
}

interface StatusDetails {
  name?: string | undefined;
  group?: string | undefined;
  kind?: string | undefined;
  uid?: string | undefined;
  causes?: Cause[] | undefined;
  retryAfterSeconds?: number | undefined;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string; resourceVersion?: string };
  status: 'Failure' | 'Success';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

export class ApiRefusal extends Error {
  readonly status: Status;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      // What the real one cannot name either has no reason.
      ...(reason === '' ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }

  get code(): number {
    return this.status.code as number;
  }
}

/** What is asked for, as messages name it. */
export interface Named {
  group: string;
  /** `nodes` */
  plural: string;
  /** `Node` */
  kind: string;
}

const qualified = ({ group, plural }: Named) => (group === '' ? plural : `${plural}.${group}`);
const qualifiedKind = ({ group, kind }: Named) => (group === '' ? kind : `${kind}.${group}`);
const detailsOf = ({ group, plural }: Named, name?: string): StatusDetails => ({
  ...(name === undefined ? {} : { name }),
  ...(group === '' ? {} : { group }),
  kind: plural,
});

export const badRequest = (message: string) => new ApiRefusal(400, 'BadRequest', message);

export const notFound = (what: Named, name: string) =>
  new ApiRefusal(404, 'NotFound', `${qualified(what)} "${name}" not found`, detailsOf(what, name));

export const noSuchPath = () =>
  new ApiRefusal(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (what: Named, name: string) =>
  new ApiRefusal(
    409,
    'AlreadyExists',
    `${qualified(what)} "${name}" already exists`,
    detailsOf(what, name),
  );

export const conflict = (what: Named, name: string, why: string) =>
  new ApiRefusal(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(what)} "${name}": ${why}`,
    detailsOf(what, name),
  );

export const modified = (what: Named, name: string) =>
  conflict(
    what,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

export const forbidden = (what: Named, name: string, why: string) =>
  new ApiRefusal(
    403,
    'Forbidden',
    `${qualified(what)} "${name}" is forbidden: ${why}`,
    detailsOf(what, name),
  );

export const methodNotAllowed = (message: string) =>
  new ApiRefusal(405, 'MethodNotAllowed', message, {});

/** `more` goes on where the client was, in the objects as they are now. */
export const expired = (message: string, more?: string) => {
  const refusal = new ApiRefusal(410, 'Expired', message);
  if (more !== undefined) refusal.status.metadata.continue = more;
  return refusal;
};

export const invalid = (what: Named, name: string | undefined, faults: Fault[]) => {
  const words = [...new Set(faults.map(({ field, message }) => `${field}: ${message}`))];
  const said = words.length === 1 ? words[0] : `[${words.join(', ')}]`;
  return new ApiRefusal(
    422,
    'Invalid',
    `${qualifiedKind(what)} "${name ?? ''}" is invalid: ${said}`,
    {
      ...(name ? { name } : {}),
      ...(what.group === '' ? {} : { group: what.group }),
      kind: what.kind,
      causes: faults.map(({ reason, message, field }) => ({ reason, message, field })),
    },
  );
};

/** One thing wrong with one field. */
export type Fault = Required<Cause>;

const shown = (value: unknown) =>
  typeof value === 'string' ? quoted(value) : JSON.stringify(value);

/** As Go's %q writes what is printable. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

export const faults = {
  invalid: (field: string, value: unknown, detail: string): Fault => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${shown(value)}: ${detail}`,
    field,
  }),
  type: (field: string, value: unknown, detail: string): Fault => ({
    reason: 'FieldValueTypeInvalid',
    message: `Invalid value: ${shown(value)}: ${detail}`,
    field,
  }),
  required: (field: string, detail = ''): Fault => ({
    reason: 'FieldValueRequired',
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
    field,
  }),
  unsupported: (field: string, value: unknown, supported: unknown[]): Fault => ({
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${shown(value)}: supported values: ${supported.map(shown).join(', ')}`,
    field,
  }),
  forbidden: (field: string, detail: string): Fault => ({
    reason: 'FieldValueForbidden',
    message: `Forbidden: ${detail}`,
    field,
  }),
  duplicate: (field: string, value: unknown): Fault => ({
    reason: 'FieldValueDuplicate',
    message: `Duplicate value: ${shown(value)}`,
    field,
  }),
  tooLong: (field: string, max: number): Fault => ({
    reason: 'FieldValueTooLong',
    message: `Too long: may not be more than ${max} bytes`,
    field,
  }),
  tooMany: (field: string, count: number, max: number): Fault => ({
    reason: 'FieldValueTooMany',
    message: `Too many: ${count}: must have at most ${max} items`,
    field,
  }),
};
