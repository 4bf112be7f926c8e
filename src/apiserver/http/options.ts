/**
 * What a request asks for beside its path and body, read from the query as the
 * real API server reads it: what cannot be meant is refused, never ignored.
 */
import type { ResourceType } from '../resource.ts';
import { parseFieldSelector, parseLabelSelector } from '../selectors.ts';
import { badRequest, type Fault, faults, invalid } from '../status.ts';
import type { FieldValidation, WriteQuery } from '../verbs/decode.ts';
import type { ListQuery } from '../verbs/list.ts';
import type { WatchQuery } from '../verbs/watch.ts';

/** Absent is no; of what is given only `0` and `false` are. */
export function isSet(query: URLSearchParams, name: string): boolean {
  const given = query.get(name);
  return given !== null && !['0', 'false'].includes(given.toLowerCase());
}

export function integer(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name);
  if (given === null || given === '') return undefined;
  const refuse = (why: string) =>
    badRequest(`${name}: strconv.ParseInt: parsing ${JSON.stringify(given)}: ${why}`);
  if (!/^[+-]?\d+$/.test(given)) throw refuse('invalid syntax');
  const value = BigInt(given.replace('+', ''));
  if (BigInt.asIntN(64, value) !== value) throw refuse('value out of range');
  return Number(value);
}

export function mustHold(kind: string, found: Fault[]): void {
  const what = { group: 'meta.k8s.io', plural: kind.toLowerCase(), kind };
  if (found.length > 0) throw invalid(what, undefined, found);
}

/** A field of a built-in kind that is not set is selected as the zero of its type. */
function zeroOf({ isCustom, schema, resolve }: ResourceType, path: string): string {
  if (isCustom) return '';
  const field = path
    .split('.')
    .reduce((at, name) => resolve(at.properties?.[name]), resolve(schema));
  return field.type === 'boolean' ? 'false' : field.type === 'integer' ? '0' : '';
}

function selectors(type: ResourceType, query: URLSearchParams) {
  const asked = query.get('fieldSelector') ?? '';
  return {
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(asked, type.selectableFields, (path) => zeroOf(type, path)),
  };
}

export function listOptions(type: ResourceType, query: URLSearchParams): ListQuery {
  const limit = Math.max(0, integer(query, 'limit') ?? 0);
  const continueToken = query.get('continue') ?? '';
  const resourceVersion = query.get('resourceVersion') ?? '';
  const resourceVersionMatch = query.get('resourceVersionMatch') ?? '';
  const found: Fault[] = [];
  const forbid = (why: string) => found.push(faults.forbidden('resourceVersionMatch', why));
  if (resourceVersionMatch !== '') {
    if (resourceVersion === '') {
      forbid('resourceVersionMatch is forbidden unless resourceVersion is provided');
    }
    if (continueToken !== '') {
      forbid('resourceVersionMatch is forbidden when continue is provided');
    }
    const known = ['Exact', 'NotOlderThan', ''];
    if (!known.includes(resourceVersionMatch)) {
      found.push(faults.unsupported('resourceVersionMatch', resourceVersionMatch, known));
    }
    if (resourceVersionMatch === 'Exact' && resourceVersion === '0') {
      forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  if (query.has('sendInitialEvents')) {
    found.push(faults.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  mustHold('ListOptions', found);
  return { ...selectors(type, query), limit, continueToken, resourceVersion, resourceVersionMatch };
}

export function watchOptions(
  type: ResourceType,
  query: URLSearchParams,
  random: () => number,
): WatchQuery {
  const seconds = integer(query, 'timeoutSeconds') ?? 0;
  const hasInitial = query.has('sendInitialEvents');
  const match = query.get('resourceVersionMatch') ?? '';
  const found: Fault[] = [];
  const forbid = (why: string) => found.push(faults.forbidden('resourceVersionMatch', why));
  if (match !== '' && !hasInitial) {
    forbid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  }
  if (hasInitial && match !== 'NotOlderThan') {
    forbid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
    if (match !== '') {
      found.push(faults.unsupported('resourceVersionMatch', match, ['NotOlderThan']));
    }
  }
  mustHold('ListOptions', found);
  return {
    ...selectors(type, query),
    resourceVersion: query.get('resourceVersion') ?? '',
    // The real one's habit: between half an hour and an hour, so that watches do not end together.
    timeoutMs: seconds !== 0 ? seconds * 1000 : (1800 + 1800 * random()) * 1000,
    wantsBookmarks: isSet(query, 'allowWatchBookmarks'),
    initialEvents: hasInitial ? isSet(query, 'sendInitialEvents') : undefined,
  };
}

type Writing = 'create' | 'update' | 'patch' | 'apply';

const optionsOf = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
  apply: 'PatchOptions',
} as const;

const validations = ['', 'Ignore', 'Strict', 'Warn'];

export function writeOptions(
  query: URLSearchParams,
  userAgent: string | undefined,
  writing: Writing,
): WriteQuery {
  const validation = query.get('fieldValidation') ?? '';
  const dryRun = query.getAll('dryRun');
  const manager = query.get('fieldManager') ?? '';
  const found = [...dryRunFaults(dryRun), ...managerFaults(manager)];
  if (!validations.includes(validation)) {
    found.push(faults.unsupported('fieldValidation', validation, validations));
  }
  if (writing === 'apply' && manager === '') {
    found.push(faults.required('fieldManager', 'is required for apply patch'));
  }
  if (writing === 'patch' && query.has('force')) {
    found.push(faults.forbidden('force', 'may not be specified for non-apply patch'));
  }
  mustHold(optionsOf[writing], found);
  // Who does not say is known by the first word of its user agent.
  const agent = (userAgent ?? 'unknown').split('/')[0] as string;
  return {
    dryRun: dryRun.includes('All'),
    fieldManager: manager === '' ? agent.slice(0, 128) : manager,
    fieldValidation: validation === '' ? 'Warn' : (validation as FieldValidation),
    force: isSet(query, 'force'),
    warnings: [],
  };
}

export function dryRunFaults(dryRun: string[]): Fault[] {
  if (dryRun.every((each) => each === 'All')) return [];
  return [faults.unsupported('dryRun', dryRun, ['All'])];
}

function managerFaults(manager: string): Fault[] {
  if (Buffer.byteLength(manager) > 128) return [faults.tooLong('fieldManager', 128)];
  const at = [...manager].findIndex((letter) => /\p{C}/u.test(letter));
  if (at < 0) return [];
  const code = (manager.codePointAt(at) as number).toString(16).toUpperCase().padStart(4, '0');
  const why = `invalid character U+${code} (at position ${at})`;
  return [faults.invalid('fieldManager', manager, why)];
}
