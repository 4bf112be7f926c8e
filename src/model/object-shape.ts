import { prefixProblem } from '../net/prefix.ts';

/**
 * What an API server would have refused, for objects that never met one. The
 * readers in model/ trust the types of fields; a file promises nothing: a label
 * `rack: 83` is a number in YAML and matches no selector, silently.
 *
 * Every problem is a clause that begins with its field path, so that whoever
 * knows the file can point at the line. As in Go, null is the same as absent.
 */
type Check = (value: unknown, path: string) => string[];

const isAbsent = (value: unknown) => value === undefined || value === null;
const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};

const must =
  (what: string, holds: (value: unknown) => boolean): Check =>
  (value, path) =>
    isAbsent(value) || holds(value) ? [] : [`${path} is ${shown(value)}, not ${what}`];

const text = must('a string', (value) => typeof value === 'string');
const count = must('a whole number', (value) => Number.isSafeInteger(value) && Number(value) >= 0);
const time = must(
  'a time like 2026-01-31T12:00:00Z',
  (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
);
const oneOf = (...words: string[]) =>
  must(`one of ${words.join(', ')}`, (value) => words.includes(value as string));
const anything: Check = () => [];

const cidr: Check = (value, path) => {
  if (typeof value !== 'string') return [`${path} is ${shown(value)}, not a CIDR`];
  const problem = prefixProblem(value);
  return problem === undefined ? [] : [`${path} ${problem}`];
};

const listOf =
  (check: Check): Check =>
  (value, path) => {
    if (isAbsent(value)) return [];
    if (!Array.isArray(value)) return [`${path} is ${shown(value)}, not a list`];
    return value.flatMap((item, at) =>
      isAbsent(item) ? [`${path}[${at}] is empty`] : check(item, `${path}[${at}]`),
    );
  };

const mapOf =
  (check: Check): Check =>
  (value, path) => {
    if (isAbsent(value)) return [];
    if (!isMap(value)) return [`${path} is ${shown(value)}, not a map`];
    return Object.entries(value).flatMap(([key, item]) => check(item, `${path}["${key}"]`));
  };

/** The named fields are checked; others are allowed unless `only` names the kind that owns them. */
const fields =
  (known: Record<string, Check>, only?: string): Check =>
  (value, path) => {
    if (isAbsent(value)) return [];
    if (!isMap(value)) return [`${path} is ${shown(value)}, not a map`];
    const at = (key: string) => (path === '' ? key : `${path}.${key}`);
    const strange = Object.keys(value).filter((key) => !Object.hasOwn(known, key));
    return [
      ...(only === undefined ? [] : strange.map((key) => `${at(key)} is no field of ${only}`)),
      ...Object.entries(known).flatMap(([key, check]) => check(value[key], at(key))),
    ];
  };

const metadata: Check = (value, path) => {
  if (!isMap(value)) return [`${path} is missing, and with it the name`];
  if (typeof value.name !== 'string' || value.name === '') {
    return [
      `${path}.name is ${isAbsent(value.name) ? 'missing' : `${shown(value.name)}, not a name`}`,
    ];
  }
  return fields({
    uid: text,
    labels: mapOf(text),
    annotations: mapOf(text),
    finalizers: listOf(text),
    creationTimestamp: time,
    deletionTimestamp: time,
  })(value, path);
};

const conditions = listOf(fields({ type: text, status: text, reason: text, message: text }));

const nodeBlockSpec: Check = (value, path) => {
  if (!isMap(value)) return [`${path} is missing`];
  const wrong = fields({
    cidr,
    pool: text,
    node: fields({ name: text, uid: text }),
    phase: oneOf('Active', 'Draining', 'Cooling', 'Guard'),
    coolingSince: time,
    guards: listOf(cidr),
  })(value, path);
  if (wrong.length > 0) return wrong;
  const nodeName = (value.node as { name?: string } | undefined)?.name;
  if (value.phase !== 'Guard' && !nodeName) return [`${path}.node.name is missing`];
  if (value.phase === 'Cooling' && isAbsent(value.coolingSince)) {
    return [`${path}.coolingSince is missing, but ${path}.phase is Cooling`];
  }
  return [];
};

const shapes: Readonly<Record<string, Check>> = {
  Node: fields({
    metadata,
    spec: fields({ podCIDR: text, podCIDRs: listOf(text) }),
    status: fields({ addresses: listOf(fields({ type: text, address: text })), conditions }),
  }),
  IPPool: fields({
    metadata,
    // readPool judges the values; what it would not even look at is a slip of the pen.
    spec: fields(
      {
        cidrs: anything,
        blockSize: anything,
        nodeSelector: anything,
        priority: anything,
        reserved: anything,
        disabled: anything,
        cooldownSeconds: anything,
      },
      'an IPPool',
    ),
  }),
  NodeBlock: fields({ metadata, spec: nodeBlockSpec }),
  NodeReport: fields({
    metadata,
    spec: fields({
      nodeUID: text,
      neededAddresses: fields({ ipv4: count, ipv6: count }),
      releases: listOf(fields({ cidr: text, uid: text })),
    }),
    status: fields({
      blocks: listOf(fields({ cidr: text, pods: count })),
      sessions: listOf(
        fields({
          peer: text,
          address: text,
          state: text,
          establishedAt: time,
          families: listOf(fields({ family: text, received: count, advertised: count })),
          announced: listOf(fields({ prefix: text, nextHop: text, since: time })),
        }),
      ),
    }),
  }),
  // readLoadBalancerPool judges the values.
  LoadBalancerPool: fields({ metadata, spec: fields({ addresses: listOf(text) }) }),
  ServiceAddress: fields({
    metadata,
    spec: fields({
      address: text,
      pool: text,
      service: fields({ namespace: text, name: text, uid: text }),
    }),
  }),
  BlockHistory: fields({
    metadata,
    spec: fields({
      blocks: listOf(fields({ cidr: text, dropped: count, entries: listOf(fields({ at: time })) })),
    }),
  }),
  NodeMigration: fields({
    metadata,
    spec: fields({ node: fields({ name: text, uid: text }), from: listOf(text), phase: text }),
  }),
  CiliumNode: fields({
    metadata,
    spec: fields({ ipam: fields({ podCIDRs: listOf(text) }) }),
  }),
  ServiceCIDR: fields({ metadata, spec: fields({ cidrs: listOf(cidr) }) }),
};

/** What is wrong with the shape of an object of that kind; empty when nothing is, or nobody knows. */
export function shapeProblems(kind: string, object: unknown): string[] {
  return shapes[kind]?.(object, '') ?? [];
}
