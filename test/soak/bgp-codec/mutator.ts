/**
 * Damaged BGP messages, the same ones for the same seed. Real messages (the
 * case files) are cut, stretched, spliced and bit-flipped; most get a correct
 * header again, because otherwise nearly all would die on the marker and the
 * code behind it would never be tried.
 */
import { readFileSync } from 'node:fs';
import type { SessionContext } from '../../../src/bgp/wire/message.ts';
import { seededRandom } from '../../parts/seeded-random.ts';

const caseFiles = [
  'eor-open-notification-refresh-exabgp',
  'header-open-update-notification-rfc',
  'mp-attr-frr',
  'open-capabilities-frr',
  'seed-incident',
  'update-unicast-exabgp',
];

/** One message with every attribute we know, in two-octet and in four-octet spelling. */
const rich = [
  'ffffffffffffffffffffffffffffffff00a00200000085' +
    '40010100' +
    '40020a0202000100010000fde9' +
    '40030401020304' +
    '80040400000064' +
    '400504000000c8' +
    '400600' +
    'c007080000fde90a000001' +
    'c00808fde90001ffff0000' +
    '8009040a000001' +
    '800a080a0000010a000002' +
    '800e1a0002011020010db8000000000000000000000001002020010db8' +
    'c010080002004800000001' +
    'c0200c000000010000000200000003' +
    '180a0570',
  'ffffffffffffffffffffffffffffffff00500200000035' +
    '40010100' +
    '4002080203fde95ba0fde8' +
    '40030401020304' +
    'c007065ba00a000001' +
    'c0110a02020001000100020002' +
    'c01208000100010a000001' +
    '180a0570',
];

/** Draws from a seed: the same ones on every machine. */
export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

export function loadCorpus(): Uint8Array[] {
  const corpus: Uint8Array[] = rich.map((hex) => fixHeader(Buffer.from(hex, 'hex'), undefined));
  for (const name of caseFiles) {
    // From the checkout: a bundled program lies elsewhere than this file.
    const { cases } = JSON.parse(readFileSync(`test/cases/bgp/${name}.json`, 'utf8')) as {
      cases: { hex: string }[];
    };
    for (const one of cases) corpus.push(new Uint8Array(Buffer.from(one.hex, 'hex')));
  }
  return corpus;
}

const interesting = [
  0, 1, 2, 3, 4, 7, 8, 14, 15, 16, 17, 18, 32, 33, 64, 127, 128, 129, 144, 192, 255,
];

export class Mutator {
  readonly #corpus: readonly Uint8Array[];
  readonly #random: Random;

  constructor(corpus: readonly Uint8Array[], random: Random) {
    this.#corpus = corpus;
    this.#random = random;
  }

  next(): Uint8Array {
    const random = this.#random;
    let bytes: Uint8Array = new Uint8Array(random.pick(this.#corpus));
    for (let times = 1 + random.below(4); times > 0; times--) bytes = this.#damage(bytes);
    if (random.below(10) > 0) bytes = fixHeader(bytes, random);
    return bytes;
  }

  session(): SessionContext {
    const random = this.#random;
    const rarely = () => random.below(4) === 0;
    return {
      as4: random.below(2) === 0,
      ibgp: random.below(2) === 0,
      extendedMessage: rarely(),
      enhancedRouteRefresh: random.below(2) === 0,
      addPathIpv4: rarely(),
      addPathIpv6: rarely(),
    };
  }

  #damage(bytes: Uint8Array): Uint8Array {
    const random = this.#random;
    // Mostly behind the header, where the meaning is.
    const start = random.below(20) === 0 ? 0 : Math.min(19, bytes.length);
    const at = start + random.below(Math.max(bytes.length - start, 1));
    switch (random.below(8)) {
      case 0:
        bytes[at]! ^= 1 << random.below(8);
        return bytes;
      case 1:
        bytes[at] = random.pick(interesting);
        return bytes;
      case 2:
        bytes[at] = random.below(256);
        return bytes;
      case 3:
        bytes[at]! += random.below(5) - 2;
        return bytes;
      case 4: // cut something out
        return join(bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(8)));
      case 5: // put something in
        return join(bytes.subarray(0, at), this.#noise(1 + random.below(8)), bytes.subarray(at));
      case 6: {
        // repeat a part, which makes attributes appear twice
        const part = bytes.subarray(at, at + 1 + random.below(40));
        return join(bytes.subarray(0, at), part, bytes.subarray(at));
      }
      default: {
        // half of this, half of another
        const other = random.pick(this.#corpus);
        return join(bytes.subarray(0, at), other.subarray(Math.min(at, other.length)));
      }
    }
  }

  #noise(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#random.below(256));
  }
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** Marker and length as they should be; an UPDATE often gets a fitting attribute length too. */
function fixHeader(bytes: Uint8Array, random: Random | undefined): Uint8Array {
  const fixed =
    bytes.length < 19 ? join(bytes, new Uint8Array(19 - bytes.length)) : new Uint8Array(bytes);
  fixed.fill(0xff, 0, 16);
  fixed[16] = (fixed.length >>> 8) & 0xff;
  fixed[17] = fixed.length & 0xff;
  if (fixed[18] === 2 && fixed.length >= 23 && (random === undefined || random.below(2) === 0)) {
    const withdrawn =
      random === undefined || random.below(2) === 0 ? 0 : (fixed[19]! << 8) | fixed[20]!;
    const room = fixed.length - 23 - withdrawn;
    if (room >= 0) {
      // Leave four octets of NLRI, as the corpus mostly has.
      const attributes = Math.max(room - 4, 0);
      fixed[19] = withdrawn >>> 8;
      fixed[20] = withdrawn & 0xff;
      fixed[21 + withdrawn] = attributes >>> 8;
      fixed[22 + withdrawn] = attributes & 0xff;
    }
  }
  return fixed;
}
