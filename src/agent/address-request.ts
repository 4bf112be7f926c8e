/** What the address book is asked for, and what it answers. */
import type { Address } from '../net/address.ts';
import type { Family } from '../net/family.ts';
import type { PodAddressRefusal } from '../plan/pod-address/pod-address.ts';
import type { Allocation, Attachment } from './allocation.ts';

export interface AddressRequest {
  owner: string;
  families: readonly Family[];
  requested?: readonly Address[];
  /** Freed again after so long, unless claimed. */
  expiryMs?: number;
  attachment?: Attachment;
}

export type AllocateAnswer =
  | { kind: 'allocated'; allocation: Allocation; isNew: boolean }
  | {
      kind: 'refused';
      reason: PodAddressRefusal | 'OwnerHoldsOther';
      detail: string;
      retryAfterMs?: number;
    };

export type ReleaseAnswer =
  | { kind: 'released'; allocation: Allocation }
  | { kind: 'absent' }
  | { kind: 'refused'; reason: 'NotOwner' | 'StaleGeneration' | 'PodAttached'; detail: string };

/** The same owner asks again, perhaps because it never heard the answer. */
export function answerAgain(held: Allocation, request: AddressRequest): AllocateAnswer {
  const families = held.addresses.map((address) => address.family);
  const isSame =
    families.length === request.families.length &&
    request.families.every((family) => families.includes(family)) &&
    (request.requested ?? []).every((asked) => held.addresses.some((own) => own.equals(asked)));
  if (isSame) return { kind: 'allocated', allocation: held, isNew: false };
  const detail = `${request.owner} already holds ${held.addresses.join(' and ')}, which is not what it asks for now`;
  return { kind: 'refused', reason: 'OwnerHoldsOther', detail };
}
