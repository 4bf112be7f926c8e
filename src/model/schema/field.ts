/**
 * The kinds of fields that schemas are made of. Imported as a whole, so that a schema
 * reads `field.text(…)`, `field.cidr(…)`. The description comes first; '' is none.
 */
import { parsePrefix, prefixProblem } from '../../net/prefix.ts';
import { isMapped } from '../plain-address.ts';
import { type ResourceSchema, ruled } from './schema.ts';

type More = Omit<ResourceSchema, 'type' | 'description'>;
type NoMore = Record<never, never>;

export const text = <const M extends More = NoMore>(description: string, more?: M) =>
  ({ type: 'string', ...described(description), ...(more as M) }) as const;

export const name = (description = '') => text(description, { maxLength: 253 });
export const uid = (description = '') => text(description, { maxLength: 128 });
export const time = (description = '') => text(description, { format: 'date-time' });

export const integer = <const M extends More = NoMore>(description: string, more?: M) =>
  ({ type: 'integer', format: 'int64', ...described(description), ...(more as M) }) as const;

export const count = (description = '') => integer(description, { minimum: 0 });

export const flag = <const M extends More = NoMore>(description: string, more?: M) =>
  ({ type: 'boolean', ...described(description), ...(more as M) }) as const;

/** A list; `atomic` unless `more` says otherwise: whoever applies it owns it whole. */
export const list = <const I extends ResourceSchema, const M extends More = NoMore>(
  description: string,
  maxItems: number,
  items: I,
  more?: M,
) =>
  ({
    type: 'array',
    ...described(description),
    maxItems,
    'x-kubernetes-list-type': 'atomic',
    items,
    ...more,
  }) as { readonly type: 'array'; readonly maxItems: number; readonly items: I } & M;

export const object = <
  const P extends Readonly<Record<string, ResourceSchema>>,
  const R extends ReadonlyArray<keyof P & string>,
  const M extends More = NoMore,
>(
  description: string,
  required: R,
  properties: P,
  more?: M,
) =>
  ({
    type: 'object',
    ...described(description),
    ...(required.length > 0 ? { required } : {}),
    properties,
    ...(more as M),
  }) as {
    readonly type: 'object';
    readonly description?: string;
    readonly required: R;
    readonly properties: P;
  } & M;

/** A list of objects. */
export const records = <
  const P extends Readonly<Record<string, ResourceSchema>>,
  const R extends ReadonlyArray<keyof P & string>,
>(
  maxItems: number,
  required: R,
  properties: P,
) => list('', maxItems, object('', required, properties));

const described = (description: string) => (description === '' ? {} : { description });

/** A CIDR as people write it into a spec: canonical, without host bits. */
export const cidr = (description: string) =>
  text(description, {
    maxLength: 43,
    ...ruled<string>(
      [
        {
          rule: 'isCIDR(self)',
          messageExpression: "'\"' + self + '\" is not an IPv4 or IPv6 CIDR'",
        },
        {
          rule: '!isCIDR(self) || string(cidr(self).masked()) == self',
          messageExpression: "'\"' + self + '\" is not canonical, or has host bits set'",
        },
      ],
      (self, path) => {
        const wrong = prefixProblem(self) ?? spellingProblem(self);
        return wrong === undefined ? [] : [`${path} ${wrong}`];
      },
    ),
  });

function spellingProblem(self: string): string | undefined {
  const canonical = `${parsePrefix(self)}`;
  if (isMapped(canonical)) return `"${self}" is IPv4 mapped into IPv6; write it as IPv4`;
  return canonical === self ? undefined : `"${self}" is not canonical; write ${canonical}`;
}

/** A CIDR that a program wrote. */
export const cidrText = text('', { maxLength: 43 });

/** A prefix length per family. */
export const lengths = (description: string, more = {}) =>
  object(
    description,
    [],
    {
      ipv4: { type: 'integer', minimum: 1, maximum: 32 },
      ipv6: { type: 'integer', minimum: 1, maximum: 128 },
    },
    more,
  );

export const priorityRange = {
  default: 0,
  minimum: -1_000_000_000,
  maximum: 1_000_000_000,
} as const;

/** metav1.Condition. */
export const conditions = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: object('', ['type', 'status', 'reason', 'message', 'lastTransitionTime'], {
    type: { type: 'string', maxLength: 316 },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    reason: { type: 'string', maxLength: 1024 },
    message: { type: 'string', maxLength: 32768 },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    lastTransitionTime: { type: 'string', format: 'date-time' },
  }),
} as const;

export const observedGeneration = { type: 'integer', format: 'int64' } as const;
export const onlyConditions = object('', [], { conditions });
