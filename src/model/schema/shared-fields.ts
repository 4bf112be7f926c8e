/** Fields that several resources have. */
import { type Address, parseAddress } from '../../net/address.ts';
import { parsePrefix, prefixProblem } from '../../net/prefix.ts';
import { objectField, ruled, textField } from './schema.ts';

/** A CIDR as people write it into a spec: canonical, without host bits. */
export const cidr = (description: string) =>
  textField(description, {
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

/** `::ffff:10.0.0.1`, which Kubernetes refuses wherever it checks addresses. */
const isMapped = (canonical: string) => canonical.includes(':') && canonical.includes('.');

/** What CEL's `isIP` takes for an address. */
export function parsePlainAddress(text: string): Address | undefined {
  const address = parseAddress(text);
  return isMapped(`${address}`) ? undefined : address;
}

/** A CIDR that a program wrote. */
export const cidrText = textField('', { maxLength: 43 });

/** A prefix length per family. */
export const lengths = (description: string, more = {}) =>
  objectField(
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
  items: objectField('', ['type', 'status', 'reason', 'message', 'lastTransitionTime'], {
    type: { type: 'string', maxLength: 316 },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    reason: { type: 'string', maxLength: 1024 },
    message: { type: 'string', maxLength: 32768 },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    lastTransitionTime: { type: 'string', format: 'date-time' },
  }),
} as const;

export const observedGeneration = { type: 'integer', format: 'int64' } as const;
export const onlyConditions = objectField('', [], { conditions });
