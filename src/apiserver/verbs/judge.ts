/** Whether an object may be stored: names, schema, the kind's own rules, CEL. */
import { judgeByRules } from '../custom/judge-rules.ts';
import { metaFaults, subdomainFaults } from '../names.ts';
import type { ApiObject } from '../object.ts';
import type { ResourceType } from '../resource.ts';
import { withoutOldFaults } from '../schema/ratchet.ts';
import { validate } from '../schema/validate.ts';
import { type Fault, faults, invalid } from '../status.ts';

const unchecked: Fault = {
  reason: 'FieldValueInvalid',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  field: '<nil>',
};

/** After one of these a rule could not be evaluated sensibly. */
const blocking = [
  'FieldValueRequired',
  'FieldValueTypeInvalid',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueNotSupported',
];

export function mustBeValid(
  type: ResourceType,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  // Built-in kinds do not change under their objects.
  const held = (of: Fault[]) => (type.isCustom ? withoutOldFaults(of, object, old) : of);
  const found = [
    ...nameFaults(type, object),
    ...metaFaults(object.metadata, type.isCustom),
    ...finalizerFaults(object, old),
    ...held(validate(object, type.schema, type.resolve)),
  ];
  const isBlocked = found.some(({ reason }) => blocking.includes(reason));
  // A kind's own rules may rely on the schema having held.
  if (!isBlocked) found.push(...(type.kindRules.validate?.(object, old) ?? []));
  if (type.hasRules) {
    if (isBlocked) found.push(unchecked);
    else found.push(...judgeByRules(type.schema, type.resolve, object, old));
  }
  if (found.length > 0) throw invalid(type, object.metadata.name ?? '', found);
}

function nameFaults(type: ResourceType, { metadata }: ApiObject): Fault[] {
  const { name, generateName } = metadata;
  const judge = type.kindRules.nameFaults ?? subdomainFaults;
  const found = generateNameFaults(type, generateName);
  if (name) {
    found.push(...judge(name, false).map((why) => faults.invalid('metadata.name', name, why)));
  } else if (!generateName) {
    found.push(faults.required('metadata.name', 'name or generateName is required'));
  }
  return found;
}

/** What comes behind a dash at its end is put there by the server. */
export function generateNameFaults(type: ResourceType, prefix: string | undefined): Fault[] {
  if (!prefix) return [];
  const judge = type.kindRules.nameFaults ?? subdomainFaults;
  return judge(prefix.replace(/-$/, 'a'), true).map((why) =>
    faults.invalid('metadata.generateName', prefix, why),
  );
}

function finalizerFaults(object: ApiObject, old: ApiObject | undefined): Fault[] {
  if (old?.metadata.deletionTimestamp === undefined) return [];
  const before = old.metadata.finalizers ?? [];
  const more = (object.metadata.finalizers ?? []).filter((each) => !before.includes(each));
  if (more.length === 0) return [];
  const list = more.map((each) => JSON.stringify(each)).join(', ');
  return [
    faults.forbidden(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    ),
  ];
}
