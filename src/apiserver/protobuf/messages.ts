/**
 * The messages of Kubernetes' protobuf as a table: what messages.json says of
 * one, in a form that a reader can follow. Each field there is
 * `NUMBER NAME TYPE`: the name is the one of JSON, `.` a part whose fields are
 * those of the whole (`[]` a list that is all of its message); before the type
 * `[]` is a list, `map:` a map by words, and `?` after it a field that JSON
 * leaves out when it is zero.
 */
import messages from './messages.json' with { type: 'json' };

export interface Field {
  name: string;
  isInline: boolean;
  isList: boolean;
  isMap: boolean;
  omitsZero: boolean;
  /** A message of the table, or a plain type. */
  type: string;
}

export type Message = ReadonlyMap<number, Field>;

const read = new Map<string, Message>();

export function messageOf(name: string): Message | undefined {
  const known = read.get(name);
  if (known !== undefined || !Object.hasOwn(messages, name)) return known;
  const line = messages[name as keyof typeof messages];
  const message = new Map(line === '' ? [] : line.split(', ').map(readField));
  read.set(name, message);
  return message;
}

function readField(text: string): [number, Field] {
  const [number = '', name = '', shape = ''] = text.split(' ');
  const [, label, type = '', mark] = /^(\[\]|map:)?([^?]+)(\?)?$/.exec(shape) ?? [];
  const field: Field = {
    name,
    isInline: name === '.',
    isList: label === '[]',
    isMap: label === 'map:',
    omitsZero: mark !== undefined,
    type,
  };
  return [Number(number), field];
}

/** The message of a kind: packages are called by the first word of their group. */
export function messageNameOf(apiVersion: string, kind: string): string {
  const [version = '', group = 'core'] = apiVersion.split('/').reverse();
  return `${group.split('.')[0]}.${version}.${kind}`;
}
