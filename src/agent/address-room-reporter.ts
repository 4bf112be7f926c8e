import { podAddressesConditionType } from '../model/keys.ts';
import { addressRoom } from '../plan/pod-address/address-room.ts';
import type { PodBlockUse } from '../plan/pod-address/pod-address.ts';
import type { FullTaint } from './full-taint.ts';
import type { NodeConditionWriter } from './node-condition.ts';

/**
 * Says on the Node that it has no address for another pod. Not by CNI STATUS: an error there
 * makes the node NotReady, and takes away the pods that run.
 */
export class AddressRoomReporter {
  readonly #condition: NodeConditionWriter;
  readonly #taint: FullTaint | undefined;
  #isFull = false;

  constructor(condition: NodeConditionWriter, taint: FullTaint | undefined) {
    this.#condition = condition;
    this.#taint = taint;
  }

  declare(use: readonly PodBlockUse[]): void {
    const { isFull, detail } = addressRoom(use, this.#isFull);
    this.#isFull = isFull;
    const reason = isFull ? 'BlockFull' : 'AddressesFree';
    this.#condition.declare(podAddressesConditionType, { isReady: !isFull, reason, detail });
    this.#taint?.declare(isFull);
  }
}
