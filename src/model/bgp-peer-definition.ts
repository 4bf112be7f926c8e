import { bgpPeerProperties, bgpPeerRules } from './bgp-peer-schema.ts';
import type { ResourceDefinition } from './crd.ts';
import { labelSelector } from './label-selector.ts';
import { peerRules, peerSettingName } from './peer-limits.ts';
import { type PeerSettings, peerSettingRows } from './peer-settings.ts';
import { bgpPeers } from './resources.ts';
import * as field from './schema/field.ts';
import { check, type ResourceSchema, ruled } from './schema/schema.ts';

/**
 * BGPPeer: a router and the nodes that have a session with it. It does not say which
 * prefix is announced: that follows from the register alone, so no object can
 * announce somebody else's. Its settings are the rows of peer-settings.ts.
 */
const settings = Object.fromEntries(
  bgpPeerProperties.map(({ key, schema, problem }): [string, ResourceSchema] => [
    key,
    {
      ...schema,
      [check]: (value: unknown, path: string) => {
        const clause = problem(value);
        return clause === undefined ? [] : [`${path} ${clause}`];
      },
    },
  ]),
);

const required = bgpPeerProperties.flatMap(({ key, isRequired }) => (isRequired ? [key] : []));

export const bgpPeerSpec: ResourceSchema = {
  type: 'object',
  required,
  properties: {
    ...settings,
    nodeSelector: labelSelector('Which nodes have a session with it. Absent or empty: every node.'),
  },
  ...ruled<Record<string, unknown>>(bgpPeerRules, (spec, path) => {
    const values = Object.fromEntries(
      peerSettingRows.flatMap(([name, { object: key }]) =>
        key === undefined ? [] : [[name, spec[key] ?? undefined]],
      ),
    ) as Partial<PeerSettings>;
    return peerRules
      .filter((rule) => !rule.isKept(values))
      .map(({ sentence }) =>
        sentence((setting) => `${path}.${peerSettingName(setting, 'object')}`),
      );
  }),
};

export const bgpPeerDefinition: ResourceDefinition = {
  resource: bgpPeers,
  shortName: 'bp',
  revision: 9,
  digest: '9b50267768a25c6a',
  spec: bgpPeerSpec,
  status: field.onlyConditions,
  columns: [
    { name: 'Address', type: 'string', jsonPath: '.spec.address' },
    { name: 'ASN', type: 'integer', jsonPath: '.spec.asn' },
    { name: 'Local ASN', type: 'integer', jsonPath: '.spec.localASN' },
    { name: 'Hold', type: 'integer', jsonPath: '.spec.holdSeconds', priority: 1 },
  ],
};
