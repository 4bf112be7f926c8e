import { AdjRibIn } from '../../../src/bgp/rib/adj-rib-in.ts';
import {
  decodeMessage,
  encodeAnnounce,
  encodeNotification,
  type NlriRun,
  type SessionContext,
  type UpdateMessage,
  type WireError,
} from '../../../src/bgp/wire/message.ts';
import { messageJson, resultJson } from '../../../src/bgp/wire/message-json.ts';

export type Outcome =
  | 'accept'
  | 'attribute-discard'
  | 'treat-as-withdraw'
  | `notification ${number}`
  | 'quiet';

/** Decodes one damaged message and checks all that must be true of the answer; throws if it is not. */
export class CodecOracle {
  #rib = new AdjRibIn();
  #applied = 0;

  check(bytes: Uint8Array, session: SessionContext): Outcome {
    const copy = new Uint8Array(bytes);
    const result = decodeMessage(bytes, session);
    if (Buffer.compare(copy, bytes) !== 0) throw new Error('decoding changed the input');
    JSON.stringify(resultJson(result));
    if (result.kind === 'error') return checkReset(bytes, result.error);
    const { message } = result;
    if (message.type !== 'update') return 'accept';
    this.#checkUpdate(message, session);
    if (message.treatAsWithdraw) return 'treat-as-withdraw';
    return message.errors.length > 0 ? 'attribute-discard' : 'accept';
  }

  #checkUpdate(update: UpdateMessage, session: SessionContext): void {
    for (const error of update.errors) {
      if (error.action === 'session-reset' || error.code !== 3) throw new Error(error.detail);
    }
    const withdrawn = update.errors.some((error) => error.action === 'treat-as-withdraw');
    if (withdrawn !== update.treatAsWithdraw) throw new Error('treatAsWithdraw contradicts errors');
    checkRun(update.withdrawn);
    checkRun(update.nlri);
    if (update.mpReach?.kind === 'unicast') checkRun(update.mpReach.nlri);
    const before = this.#rib.size;
    const change = this.#rib.apply(update);
    if (this.#rib.size < 0 || this.#rib.size > before + change.announced) {
      throw new Error('the rib grew by more than was announced');
    }
    if (++this.#applied % 10_000 === 0) this.#rib = new AdjRibIn();
    if (update.errors.length === 0 && session.as4) checkReencoded(update, session);
  }
}

/** Every fault has the code of its message (RFC 4271 §6). */
function checkReset(bytes: Uint8Array, error: WireError): Outcome {
  if (error.action !== 'session-reset') throw new Error(`${error.action} ended the session`);
  const byType = [1, 2, 3, 1, 1, 7][bytes[18] ?? 0] ?? 1;
  if (error.code !== 1 && error.code !== byType) {
    throw new Error(`code ${error.code} for a message of type ${bytes[18]}: ${error.detail}`);
  }
  const notification = encodeNotification(error);
  if (notification.length > 4096) throw new Error('a NOTIFICATION of more than 4,096 octets');
  return error.quiet ? 'quiet' : `notification ${error.code}`;
}

function checkRun(run: NlriRun): void {
  const list = run.toArray();
  if (list.length !== run.count)
    throw new Error(`${run.count} prefixes counted, ${list.length} read`);
}

/** What was accepted can be said again, and then means the same. */
function checkReencoded(update: UpdateMessage, session: SessionContext): void {
  const reach = update.mpReach?.kind === 'unicast' ? update.mpReach : undefined;
  const run = reach?.nlri ?? update.nlri;
  const nextHops =
    reach?.nextHops ?? (update.attributes.nextHop ? [update.attributes.nextHop] : []);
  const { nextHop: _, ...attributes } = update.attributes;
  if (run.count === 0 || nextHops.length === 0) return;
  let messages: Uint8Array[];
  try {
    messages = encodeAnnounce({ prefixes: run.toArray(), attributes, nextHops }, session);
  } catch (error) {
    if (error instanceof RangeError) return; // attributes that fill the message to the brim
    throw error;
  }
  const first = decodeMessage(messages[0]!, session);
  if (first.kind === 'error' || first.message.type !== 'update')
    throw new Error('does not decode again');
  const { nextHop: __, ...again } = first.message.attributes;
  const said = JSON.stringify(plain({ ...update, attributes }));
  const repeated = JSON.stringify(plain({ ...first.message, attributes: again }));
  if (said !== repeated) throw new Error(`${said}\nbecame\n${repeated}`);
}

function plain(update: UpdateMessage): unknown {
  const { attributes } = messageJson(update) as { attributes: Record<string, unknown> };
  const { mpReach, mpUnreach, other, ...rest } = attributes;
  const sorted = (other as { flags: number; type: number }[] | undefined)
    ?.map((one) => ({ ...one, flags: one.flags & 0xef }))
    .sort((a, b) => a.type - b.type);
  return { ...rest, other: sorted };
}
