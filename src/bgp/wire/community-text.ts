/** Communities as people write them. */
import { parseCommunityNumbers } from '../../model/bgp-config/read-community.ts';
import type { LargeCommunity } from './message.ts';

/** RFC 1997, 3765, 7999, 8326; the names routers use in their own configuration. */
const wellKnown: Readonly<Record<string, number>> = {
  'graceful-shutdown': 0xffff0000,
  'accept-own': 0xffff0001,
  'llgr-stale': 0xffff0006,
  'no-llgr': 0xffff0007,
  blackhole: 0xffff029a,
  'no-export': 0xffffff01,
  'no-advertise': 0xffffff02,
  'no-export-subconfed': 0xffffff03,
  'no-peer': 0xffffff04,
};

export const gracefulShutdownCommunity = 0xffff0000;

/** `64513:100`, a well-known name, or a plain 32-bit number; undefined if it is none of them. */
export function parseCommunity(text: string): number | undefined {
  const known = wellKnown[text] ?? parseCommunityNumbers(text);
  if (known !== undefined) return known;
  const whole = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return whole <= 0xffffffff ? whole : undefined;
}

/** `64513:1:2` (RFC 8092 §5: three decimal numbers of 32 bits); undefined if it is not. */
export function parseLargeCommunity(text: string): LargeCommunity | undefined {
  const parts = /^(\d{1,10}):(\d{1,10}):(\d{1,10})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 0xffffffff)) return undefined;
  return { global: parts[0]!, local1: parts[1]!, local2: parts[2]! };
}
