import { CadastreError } from '../../base/errors.ts';
import { hexToBytes } from './hex.ts';
import { decodeMessage, defaultContext } from './message.ts';
import { type JsonObject, resultJson } from './message-json.ts';

export interface DecodeOptions {
  /** AS numbers have two octets: the session had no capability 65. */
  readonly as2: boolean;
  /** NLRI carry path identifiers. */
  readonly addPath: boolean;
  readonly ibgp: boolean;
}

/** One BGP message in hex as JSON: the message, what is left of it, or why it ends the session. */
export function decodeHex(text: string, options: DecodeOptions): JsonObject {
  // Captures come with blanks, line breaks or colons between octets.
  const digits = text.replace(/[\s:]+/g, '');
  if (digits === '' || !/^([0-9a-fA-F]{2})*$/.test(digits)) {
    throw new CadastreError('BAD_INPUT', `not a BGP message in hex: ${excerpt(text)}`, {
      remedy: 'give an even number of hex digits, from the marker (ffff…) to the end',
    });
  }
  const session = {
    ...defaultContext,
    as4: !options.as2,
    ibgp: options.ibgp,
    addPathIpv4: options.addPath,
    addPathIpv6: options.addPath,
  };
  return resultJson(decodeMessage(hexToBytes(digits), session));
}

function excerpt(text: string): string {
  const line = text.trim();
  return line === '' ? '(empty)' : line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
