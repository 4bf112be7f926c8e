/**
 * Whether a node has pod addresses left, for its condition and taint. It is full a little
 * before the last address is given, and has room again only at twice as many: pods that come
 * and go at the edge must not turn it over with each of them.
 */
import { families } from '../../net/family.ts';
import { familyLabel, type PodBlockUse } from './pod-address.ts';

export interface AddressRoom {
  isFull: boolean;
  detail: string;
}

/** Enough for the pods that are on their way while the scheduler learns of it. */
const keptInReserve = 4n;

export function addressRoom(use: readonly PodBlockUse[], wasFull = false): AddressRoom {
  for (const family of families) {
    const open = use.filter((one) => one.prefix.family === family && !one.isDraining);
    if (open.length === 0) continue;
    const total = open.reduce((sum, one) => sum + one.total, 0n);
    const free = open.reduce((sum, one) => sum + one.free, 0n);
    const reserve = total / 16n < keptInReserve ? total / 16n : keptInReserve;
    if (free > (wasFull ? 2n * reserve : reserve)) continue;
    const cooling = open.reduce((sum, one) => sum + one.resting, 0);
    const names = open.map(({ prefix }) => `${prefix}`).join(', ');
    const detail = `${free} of ${total} ${familyLabel(family)} addresses of ${names} are free, ${cooling} cool down; pods that run are not affected`;
    return { isFull: true, detail };
  }
  return { isFull: false, detail: 'pod addresses are free' };
}
