/** What the end of a session means, apart from when it happens. */

import { errorCode } from '../wire/message.ts';
import { ceaseSubcode } from '../wire/notification.ts';
import type { Cease, OutgoingNotification } from './session-events.ts';
import type { Negotiated } from './session-negotiation.ts';

export const collisionLost: OutgoingNotification = {
  code: errorCode.cease,
  subcode: ceaseSubcode.collision,
};

export function isCollision({ code, subcode }: { code: number; subcode: number }): boolean {
  return code === errorCode.cease && subcode === ceaseSubcode.collision;
}

export function ceaseNotification(cease: Cease): OutgoingNotification {
  return {
    code: errorCode.cease,
    subcode: cease.subcode,
    ...(cease.data === undefined ? {} : { data: cease.data }),
    ...(cease.words === undefined ? {} : { shutdownCommunication: cease.words }),
  };
}

/** RFC 8538 §4: with the N-bit on both sides only a Hard Reset takes the routes along. */
export function keepsOnNotification(
  negotiated: Negotiated | undefined,
  { code, subcode }: { code: number; subcode: number },
): boolean {
  const isHardReset = code === errorCode.cease && subcode === ceaseSubcode.hardReset;
  return negotiated?.gracefulRestart?.coversNotification === true && !isHardReset;
}

/** RFC 4724 §4.2: silence is what a restart looks like. */
export function keepsOnSilence(negotiated: Negotiated | undefined): boolean {
  return negotiated?.gracefulRestart !== undefined;
}

/** RFC 6608: which state a message out of place came in is the subcode. */
export function outOfPlace(step: 'OpenSent' | 'OpenConfirm' | 'Established'): OutgoingNotification {
  const subcode = step === 'OpenSent' ? 1 : step === 'OpenConfirm' ? 2 : 3;
  return { code: errorCode.fsm, subcode };
}
