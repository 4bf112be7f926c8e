/**
 * The messages of Kubernetes' protobuf, read from its Go modules: numbers, names
 * and types of fields, nothing else. The generated.proto files say what is on the
 * wire; the tags of the Go types say what the field is called in JSON, and
 * whether a zero of it is written there.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const goModule = join(import.meta.dirname, '../parts/go');

/** The folder of a Go module that the real parts are built from. */
export function moduleDir(name: string): string {
  const args = ['list', '-m', '-f', '{{.Dir}}', name];
  return execFileSync('go', args, { cwd: goModule, encoding: 'utf8' }).trim();
}

/** `core.v1` for the folder core/v1, and so on: how messages are called here. */
function packages(): Map<string, string> {
  const found = new Map<string, string>();
  const api = moduleDir('k8s.io/api');
  for (const group of readdirSync(api, { withFileTypes: true })) {
    if (!group.isDirectory()) continue;
    for (const version of readdirSync(join(api, group.name))) {
      // What is alpha or beta is not served.
      if (!/^v\d+$/.test(version)) continue;
      found.set(`${group.name}.${version}`, join(api, group.name, version));
    }
  }
  const machinery = join(moduleDir('k8s.io/apimachinery'), 'pkg');
  found.set('meta.v1', join(machinery, 'apis/meta/v1'));
  found.set('resource', join(machinery, 'api/resource'));
  found.set('runtime', join(machinery, 'runtime'));
  found.set('intstr', join(machinery, 'util/intstr'));
  const extensions = moduleDir('k8s.io/apiextensions-apiserver');
  found.set('apiextensions.v1', join(extensions, 'pkg/apis/apiextensions/v1'));
  const aggregator = moduleDir('k8s.io/kube-aggregator');
  found.set('apiregistration.v1', join(aggregator, 'pkg/apis/apiregistration/v1'));
  return found;
}

interface Tag {
  name: string;
  isPointer: boolean;
  /** A zero is left out of JSON. */
  omits: 'nothing' | 'zero scalars' | 'every zero';
}

interface GoTypes {
  /** Of a struct, by the number of its fields. */
  structs: Map<string, Map<number, Tag>>;
  /** Types that are lists of words; protobuf wraps them into a message. */
  lists: Set<string>;
}

function goTypes(dir: string): GoTypes {
  const structs = new Map<string, Map<number, Tag>>();
  const lists = new Set<string>();
  for (const file of readdirSync(dir).filter((name) => /^[a-z_]*\.go$/.test(name))) {
    if (/^(zz_)?generated|_test\.go$/.test(file)) continue;
    let fields: Map<number, Tag> | undefined;
    for (const line of readFileSync(join(dir, file), 'utf8').split('\n')) {
      const opened = /^type (\w+) struct/.exec(line);
      if (opened !== null) {
        fields = new Map();
        structs.set(opened[1] as string, fields);
      }
      const list = /^type (\w+) \[\]string/.exec(line);
      if (list !== null) lists.add(list[1] as string);
      const found = /^\t(.*?)\s*`json:"([^"]*)".*protobuf:"\w+,(\d+),/.exec(line);
      if (found === null || fields === undefined) continue;
      const [, declared = '', json = '', number] = found;
      const [name = '', ...options] = json.split(',');
      fields.set(Number(number), {
        name: options.includes('inline') ? '.' : name === '-' ? '' : name,
        isPointer: /(^|\s)\*/.test(declared),
        omits: options.includes('omitzero')
          ? 'every zero'
          : options.includes('omitempty')
            ? 'zero scalars'
            : 'nothing',
      });
    }
  }
  return { structs, lists };
}

const scalars: Record<string, string> = {
  string: 'string',
  bool: 'bool',
  bytes: 'bytes',
  double: 'double',
  int32: 'int',
  int64: 'int',
  uint32: 'int',
  uint64: 'int',
};

/** Every message as one line: `NUMBER NAME TYPE`, as src/apiserver/protobuf/messages.ts reads it. */
export function readMessages(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [prefix, dir] of packages()) {
    const file = join(dir, 'generated.proto');
    if (!existsSync(file)) continue;
    const { structs, lists } = goTypes(dir);
    let message = '';
    let fields: string[] = [];
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const opened = /^message (\w+) \{/.exec(line);
      if (opened !== null) [message, fields] = [opened[1] as string, []];
      else if (line === '}' && message !== '') {
        const isList = lists.has(message) && fields.length === 1;
        found[`${prefix}.${message}`] = isList ? '1 [] []string' : fields.join(', ');
        message = '';
      }
      const field = /^ {2}(optional|repeated|map<string, (\S+)>) ?(\S*) (\w+) = (\d+);/.exec(line);
      if (field === null) continue;
      const [, label, ofMap, declared, wireName = '', number] = field;
      const type = shortType((ofMap ?? declared) as string, prefix);
      const tag = structs.get(message)?.get(Number(number));
      const isOmitted = tag !== undefined && !tag.isPointer && omitsZero(tag, type);
      const shape =
        label === 'repeated'
          ? `[]${type}`
          : ofMap !== undefined
            ? `map:${type}`
            : `${type}${isOmitted ? '?' : ''}`;
      fields.push(`${number} ${tag?.name || wireName} ${shape}`);
    }
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Go's JSON leaves out a zero of a plain field; of a struct only where that is said. */
const omitsZero = ({ omits }: Tag, type: string) =>
  omits === 'every zero' || (omits === 'zero scalars' && !type.includes('.'));

function shortType(declared: string, prefix: string): string {
  const known = scalars[declared];
  if (known !== undefined) return known;
  if (!declared.startsWith('.')) return `${prefix}.${declared}`;
  const parts = declared.split('.');
  const at = parts.findLastIndex((part) => /^v\d/.test(part));
  return parts.slice(at === -1 ? -2 : at - 1).join('.');
}

/** One line a message, so that a change of one kind is a change of few lines. */
export function asText(messages: Record<string, string>): string {
  const lines = Object.entries(messages).map((entry) => entry.map((each) => JSON.stringify(each)));
  return `{\n  ${lines.map((line) => line.join(': ')).join(',\n  ')}\n}\n`;
}
