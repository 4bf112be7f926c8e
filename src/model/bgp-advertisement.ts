import type { ResourceDefinition } from './crd.ts';
import { type LabelSelector, labelSelector } from './label-selector.ts';
import { type Identity, identityOf, type KubeObject, textList } from './object.ts';
import { bgpAdvertisements } from './resources.ts';
import * as field from './schema/field.ts';

const isSet = { 'x-kubernetes-list-type': 'set' } as const;
const maxUint32 = 0xffffffff;

const names = (description: string) =>
  field.list(description, 256, { type: 'string', minLength: 1, maxLength: 253 }, isSet);

const spec = field.object('', [], {
  nodeSelector: labelSelector('On which nodes it holds. Absent or empty: every node.'),
  peers: names('Names of the peers it is for. Absent or empty: all.'),
  pools: names('Pools whose blocks it is about. Absent or empty: all.'),
  priority: field.integer(
    'Where several fit a block and a peer, the highest counts, then the name.',
    field.priorityRange,
  ),
  communities: field.list(
    '',
    64,
    field.text('64513:100, or a well-known name such as no-export.', {
      maxLength: 32,
      pattern: '^([0-9]{1,5}:[0-9]{1,5}|[a-zA-Z][a-zA-Z0-9_-]*)$',
    }),
    isSet,
  ),
  largeCommunities: field.list(
    '',
    64,
    field.text('64513:1:2.', { maxLength: 32, pattern: '^[0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10}$' }),
    isSet,
  ),
  localPref: field.integer('For routers in our own AS.', { minimum: 0, maximum: maxUint32 }),
  med: field.integer('Among several ways into our AS the lowest is preferred.', {
    minimum: 0,
    maximum: maxUint32,
  }),
  prepend: field.integer('How often our AS is repeated beyond the one time.', {
    minimum: 0,
    maximum: 100,
  }),
});

export const bgpAdvertisementDefinition: ResourceDefinition = {
  resource: bgpAdvertisements,
  shortName: 'ba',
  revision: 7,
  digest: '393289831e51d35e',
  spec,
  status: field.onlyConditions,
  columns: [
    { name: 'Peers', type: 'string', jsonPath: '.spec.peers' },
    { name: 'Pools', type: 'string', jsonPath: '.spec.pools' },
    { name: 'Communities', type: 'string', jsonPath: '.spec.communities' },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
  ],
};

/** The attributes that blocks are announced with. Which blocks are, the register says. */
export interface BgpAdvertisement extends Identity {
  nodeSelector: LabelSelector | undefined;
  /** Names; empty means all. */
  peers: readonly string[];
  pools: readonly string[];
  priority: number;
  communities: readonly string[];
  largeCommunities: readonly string[];
  localPref: number | undefined;
  med: number | undefined;
  prepend: number | undefined;
}

export function readBgpAdvertisement(object: KubeObject): BgpAdvertisement {
  const given = (object.spec ?? {}) as Record<string, unknown>;
  const number = (key: keyof typeof spec.properties) =>
    typeof given[key] === 'number' ? given[key] : undefined;
  return {
    ...identityOf(object),
    nodeSelector: (given.nodeSelector ?? undefined) as LabelSelector | undefined,
    peers: textList(given.peers),
    pools: textList(given.pools),
    priority: number('priority') ?? spec.properties.priority.default,
    communities: textList(given.communities),
    largeCommunities: textList(given.largeCommunities),
    localPref: number('localPref'),
    med: number('med'),
    prepend: number('prepend'),
  };
}
