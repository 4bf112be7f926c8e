/** What a DELETE asks for, in its body or its query. */
import { isFields } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import { dropEmpty } from '../schema/shape.ts';
import { validate } from '../schema/validate.ts';
import { badRequest, faults } from '../status.ts';
import type { DeleteQuery } from '../verbs/delete.ts';
import { dryRunFaults, integer, isSet, mustHold } from './options.ts';

const text: Schema = { type: 'string' };
const schema: Schema = {
  type: 'object',
  properties: {
    kind: text,
    apiVersion: text,
    gracePeriodSeconds: { type: 'integer' },
    orphanDependents: { type: 'boolean' },
    propagationPolicy: text,
    dryRun: { type: 'array', items: text },
    preconditions: { type: 'object', properties: { uid: text, resourceVersion: text } },
  },
};
const resolve = (each: Schema | undefined) => each ?? {};

function readOptions(body: unknown): DeleteQuery {
  const given = body ?? {};
  dropEmpty(given, schema, resolve);
  const [wrong] = validate(given, schema, resolve);
  if (!isFields(given) || wrong !== undefined) {
    throw badRequest(`json: cannot read DeleteOptions: ${wrong?.field}: ${wrong?.message}`);
  }
  if (given.kind && given.kind !== 'DeleteOptions') {
    throw badRequest(`no kind ${JSON.stringify(given.kind)} is known beside DeleteOptions here`);
  }
  return given as DeleteQuery;
}

/** Without a body the query may name them. */
function preconditionsOf(query: URLSearchParams): DeleteQuery {
  const [uid, resourceVersion] = [query.get('uid'), query.get('resourceVersion')];
  if (!uid && !resourceVersion) return {};
  return { preconditions: { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) } };
}

const policies = ['Foreground', 'Background', 'Orphan'];

/** From the body and the query together. */
export function deleteOptions(body: unknown, query: URLSearchParams): DeleteQuery {
  const given = body === undefined ? preconditionsOf(query) : readOptions(body);
  const seconds = integer(query, 'gracePeriodSeconds') ?? given.gracePeriodSeconds;
  const policy = query.get('propagationPolicy') ?? given.propagationPolicy;
  const isOrphaning = query.has('orphanDependents')
    ? isSet(query, 'orphanDependents')
    : given.orphanDependents;
  const dryRun = [...(given.dryRun ?? []), ...query.getAll('dryRun')];
  const found = dryRunFaults(dryRun);
  if (policy !== undefined && isOrphaning !== undefined) {
    found.push(
      faults.invalid(
        'propagationPolicy',
        policy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    );
  }
  if (policy !== undefined && !policies.includes(policy)) {
    found.push(faults.unsupported('propagationPolicy', policy, [...policies, 'nil']));
  }
  mustHold('DeleteOptions', found);
  return {
    ...(given.preconditions === undefined ? {} : { preconditions: given.preconditions }),
    ...(seconds === undefined
      ? {}
      : { gracePeriodSeconds: Math.max(seconds, seconds < 0 ? 1 : 0) }),
    ...(policy === undefined ? {} : { propagationPolicy: policy as 'Background' }),
    ...(isOrphaning === undefined ? {} : { orphanDependents: isOrphaning }),
    dryRun,
  };
}
