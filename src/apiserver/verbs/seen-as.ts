import { type ApiObject, copyOf, isEqual } from '../object.ts';
import { apiVersionOf, type ResourceType } from '../resource.ts';
import type { Schema } from '../schema/schema.ts';
import { fillDefaults } from '../schema/shape.ts';

/** The object as a client of this version sees it. */
export function seenAs(type: ResourceType, object: ApiObject): ApiObject {
  if (type.conversion !== undefined) return type.conversion.fromStored(object);
  const apiVersion = apiVersionOf(type);
  const seen = type.isCustom && hasDefaults(type) ? withDefaults(type, object) : object;
  return seen.apiVersion === apiVersion ? seen : { ...seen, apiVersion };
}

const defaulting = new WeakMap<ResourceType, boolean>();

function hasDefaults(type: ResourceType): boolean {
  const known = defaulting.get(type) ?? saysDefault(type.schema);
  defaulting.set(type, known);
  return known;
}

function saysDefault(schema: Schema): boolean {
  const { properties = {}, items, additionalProperties } = schema;
  const below = [...Object.values(properties), ...(items === undefined ? [] : [items])];
  if (typeof additionalProperties === 'object') below.push(additionalProperties);
  return schema.default !== undefined || below.some(saysDefault);
}

const filled = new WeakMap<ApiObject, { type: ResourceType; object: ApiObject }>();

/** What a definition fills in now was perhaps not filled in when the object was stored. */
function withDefaults(type: ResourceType, stored: ApiObject): ApiObject {
  const known = filled.get(stored);
  if (known?.type === type) return known.object;
  const copy = copyOf(stored);
  fillDefaults(copy, type.schema, type.resolve);
  const object = isEqual(copy, stored) ? stored : copy;
  filled.set(stored, { type, object });
  return object;
}
