import { aggregatorCodec, as4AggregatorCodec, atomicAggregateCodec } from './aggregate.ts';
import { as4PathCodec, asPathCodec } from './as-path.ts';
import type { AttributeCodec } from './attribute-codec.ts';
import { communitiesCodec, extendedCommunitiesCodec, largeCommunitiesCodec } from './community.ts';
import { nextHopCodec } from './next-hop.ts';
import { originCodec } from './origin.ts';
import { localPrefCodec, medCodec } from './preference.ts';
import { clusterListCodec, originatorIdCodec } from './reflection.ts';

/** Every attribute we know, by ascending type: the order RFC 4271 §5 asks a sender for. */
export const attributeTable: readonly AttributeCodec[] = [
  originCodec,
  asPathCodec,
  nextHopCodec,
  medCodec,
  localPrefCodec,
  atomicAggregateCodec,
  aggregatorCodec,
  communitiesCodec,
  originatorIdCodec,
  clusterListCodec,
  extendedCommunitiesCodec,
  as4PathCodec,
  as4AggregatorCodec,
  largeCommunitiesCodec,
];

const byType: (AttributeCodec | undefined)[] = new Array(256).fill(undefined);
for (const codec of attributeTable) byType[codec.type] = codec;

export function attributeCodec(type: number): AttributeCodec | undefined {
  return byType[type];
}
