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
const keptInReserve = 4;
/** So that a small node is not full before it has begun. */
const reservedShare = 16;

/** As many free addresses, or fewer, are called full. */
function reserveOf(room: bigint): bigint {
  const share = room / BigInt(reservedShare);
  return share < BigInt(keptInReserve) ? share : BigInt(keptInReserve);
}

/**
 * With how many addresses so many pods do not make a node full, even one that was. It must ask for
 * these where it gets blocks by demand: a full node is sent no more pods, and so would never ask.
 */
export function addressesToHaveRoom(pods: number): number {
  // More than twice the largest reserve is room whatever the node holds; below, its share decides.
  const reserve = Number(reserveOf(BigInt(pods + 2 * keptInReserve + 1)));
  return pods + 2 * reserve + 1;
}

export function addressRoom(use: readonly PodBlockUse[], wasFull = false): AddressRoom {
  for (const family of families) {
    const open = use.filter((one) => one.prefix.family === family && !one.isDraining);
    if (open.length === 0) continue;
    const total = open.reduce((sum, one) => sum + one.forPods - one.reserved, 0n);
    const free = open.reduce((sum, one) => sum + one.free, 0n);
    const reserve = reserveOf(total);
    if (free > (wasFull ? 2n * reserve : reserve)) continue;
    const cooling = open.reduce((sum, one) => sum + one.resting, 0);
    const names = open.map(({ prefix }) => `${prefix}`).join(', ');
    const detail = `${free} of ${total} ${familyLabel(family)} addresses of ${names} are free, ${cooling} cool down; pods that run are not affected`;
    return { isFull: true, detail };
  }
  return { isFull: false, detail: 'pod addresses are free' };
}
