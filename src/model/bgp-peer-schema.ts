/**
 * The settings of a BGPPeer as an API server checks them: the properties and rules
 * of its CRD, out of the table of peer-settings.ts. The table's `nodeSelector` is not
 * here: which nodes have a session with a router is no setting of the session.
 */
import { peerRules, peerSettingName, peerValueProblem } from './peer-limits.ts';
import { type PeerSetting, peerSettingRows } from './peer-settings.ts';

/** OpenAPI v3, as far as a setting of a peer needs it. */
export interface PeerPropertySchema {
  readonly type: 'string' | 'integer' | 'boolean' | 'array';
  readonly format?: 'int64';
  readonly description: string;
  readonly default?: number | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: { readonly type: 'string'; readonly enum: readonly string[] };
  readonly 'x-kubernetes-list-type'?: 'set';
  readonly 'x-kubernetes-validations'?: readonly {
    readonly rule: string;
    readonly message?: string;
    readonly messageExpression?: string;
  }[];
}

export interface PeerProperty {
  readonly key: string;
  readonly isRequired: boolean;
  readonly schema: PeerPropertySchema;
  /** What is wrong with a value, `is 2, not 0 or …`: the schema and its rules in TypeScript. */
  problem(value: unknown): string | undefined;
}

/** In the order of the table. */
export const bgpPeerProperties: readonly PeerProperty[] = peerSettingRows.flatMap(([, row]) => {
  if (row.object === undefined) return [];
  return [
    {
      key: row.object,
      isRequired: row.isRequired === true,
      schema: propertySchema(row, row.object),
      problem: (value: unknown) => peerValueProblem(row, value, 'object'),
    },
  ];
});

/** What holds between settings, in CEL; `self` is the spec. */
export const bgpPeerRules = peerRules.map(({ cel, sentence }) => ({
  rule: cel,
  message: sentence((setting) => peerSettingName(setting, 'object')),
}));

function propertySchema(row: PeerSetting, key: string): PeerPropertySchema {
  const { description, maximum } = row;
  const byDefault = row.clusterDefault ?? row.default;
  switch (row.kind) {
    case 'integer':
    case 'seconds': {
      const minimum = row.orZero === true ? 0 : row.minimum;
      return {
        type: 'integer',
        format: 'int64',
        description,
        ...(minimum === undefined ? {} : { minimum }),
        ...(maximum === undefined ? {} : { maximum }),
        ...(typeof byDefault === 'number' ? { default: byDefault } : {}),
        ...(row.orZero === true
          ? {
              'x-kubernetes-validations': [
                {
                  rule: `self == 0 || self >= ${row.minimum}`,
                  message: `${key} must be 0, or from ${row.minimum} to ${maximum}`,
                },
              ],
            }
          : {}),
      };
    }
    case 'flag':
      return {
        type: 'boolean',
        description,
        ...(typeof byDefault === 'boolean' ? { default: byDefault } : {}),
      };
    case 'families':
      return {
        type: 'array',
        description,
        minItems: 1,
        maxItems: 2,
        'x-kubernetes-list-type': 'set',
        items: { type: 'string', enum: ['ipv4', 'ipv6'] },
      };
    case 'address':
      return text(description, 45, {
        rule: 'isIP(self)',
        messageExpression: "'\"' + self + '\" is not an IP address'",
      });
    case 'routerId':
      return text(description, 15, {
        rule: "isIP(self) && ip(self).family() == 4 && self != '0.0.0.0'",
        message: `${key} must look like 192.0.2.1`,
      });
    default:
      return text(description, row.maxOctets ?? 253);
  }
}

function text(
  description: string,
  maxLength: number,
  ...rules: NonNullable<PeerPropertySchema['x-kubernetes-validations']>
): PeerPropertySchema {
  return {
    type: 'string',
    description,
    maxLength,
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  };
}
