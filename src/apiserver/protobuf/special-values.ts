/** Messages that are something else in JSON than an object with their fields. */
import type { Fields } from '../object.ts';
import { readJson } from '../read-json.ts';
import { messageOf } from './messages.ts';

type InJson = (fields: Fields) => unknown;

const json: InJson = (fields) => {
  const [raw = ''] = Object.values(fields) as string[];
  return raw === '' ? undefined : readJson(Buffer.from(raw, 'base64').toString('utf8'));
};

const schemas = 'apiextensions.v1.JSONSchemaPropsOr';
const special: Record<string, InJson> = {
  'meta.v1.Time': (fields) => time(fields)?.replace(/\.\d+/, ''),
  'meta.v1.MicroTime': time,
  'resource.Quantity': ({ string }) => string || '0',
  'intstr.IntOrString': ({ type, intVal, strVal }) => (type === 1 ? (strVal ?? '') : (intVal ?? 0)),
  'meta.v1.FieldsV1': json,
  'runtime.RawExtension': json,
  'apiextensions.v1.JSON': json,
  [`${schemas}Array`]: ({ schema, jSONSchemas }) => jSONSchemas ?? schema,
  [`${schemas}Bool`]: ({ schema, allows }) => schema ?? allows ?? false,
  [`${schemas}StringArray`]: ({ schema, property }) => property ?? schema,
};

export function specialValue(message: string): InJson | undefined {
  const known = special[message];
  if (known !== undefined) return known;
  const isList = messageOf(message)?.get(1)?.name === '[]';
  return isList ? (fields) => fields['[]'] ?? [] : undefined;
}

/** With microseconds; a message without fields is no time at all. */
function time({ seconds, nanos = 0 }: Fields): string | undefined {
  if (seconds === undefined) return undefined;
  const text = new Date(Number(seconds) * 1000).toISOString();
  if (text.length !== 24) throw new Error(`protobuf: no time of four digits a year: ${text}`);
  const micros = Math.floor(Number(nanos) / 1000);
  return `${text.slice(0, 19)}.${String(micros).padStart(6, '0').slice(-6)}Z`;
}
