/** Damage to bytes and texts, the same for the same seed. */
import type { Random } from '../soak/bgp-codec/mutator.ts';

const pieces = [
  ...[
    '\0',
    '\u001b[31m',
    '\ufeff',
    '\ud800',
    '%',
    '%00',
    '../',
    '"',
    "'",
    '\\',
    '{',
    '}',
    '[',
    ']',
  ],
  ...[':', '- ', '&a ', '*a ', '!!binary ', '|', '>', '#', '---\n', '\t', '\r\n', '\n', ','],
  ...[
    'null',
    'true',
    '-1',
    '0',
    '1e999',
    '99999999999999999999',
    'NaN',
    '__proto__',
    'constructor',
  ],
  ...['10.0.0.0/8', '0.0.0.0/0', '::/0', 'fe80::1%eth0', '256.1.1.1', '10.0.0.0/33', '1.2.3'],
];

export function damagedText(text: string, random: Random): string {
  let damaged = text;
  for (let times = 1 + random.below(5); times > 0; times--) damaged = once(damaged, random);
  return damaged;
}

/** As it can stand in a path or a header. */
export function damagedSegment(text: string, random: Random): string {
  // By way of bytes: half a surrogate pair has no percent-encoding.
  const sent = Buffer.from(damagedText(text, random)).toString();
  return encodeURIComponent(sent).slice(0, 2_000).replace(/%.?$/, '');
}

function once(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const length = 1 + random.below(random.below(4) === 0 ? 400 : 12);
  const [head, rest, tail] = [
    text.slice(0, at),
    text.slice(at, at + length),
    text.slice(at + length),
  ];
  switch (random.below(7)) {
    case 0:
      return head + tail;
    case 1:
      return head + rest + rest + tail;
    case 2:
      return head + random.pick(pieces) + rest + tail;
    case 3:
      return head + random.pick(pieces) + tail;
    case 4:
      return head + random.pick(pieces).repeat(1 + random.below(2_000)) + rest + tail;
    case 5: {
      // A line under another one.
      const lines = text.split('\n');
      lines.splice(random.below(lines.length), 0, random.pick(lines));
      return lines.join('\n');
    }
    default:
      return text.slice(0, at);
  }
}

export function damagedBytes(bytes: Uint8Array, random: Random): Buffer {
  let damaged = Buffer.from(bytes);
  for (let times = 1 + random.below(3); times > 0; times--) {
    if (damaged.length === 0) return damaged;
    const at = random.below(damaged.length);
    const until = at + 1 + random.below(64);
    switch (random.below(5)) {
      case 0:
        damaged[at] = (damaged[at] ?? 0) ^ (1 << random.below(8));
        break;
      case 1:
        damaged[at] = random.below(256);
        break;
      case 2:
        damaged = damaged.subarray(0, at);
        break;
      case 3:
        damaged = Buffer.concat([damaged.subarray(0, at), damaged.subarray(until)]);
        break;
      default:
        damaged.fill(0, at, Math.min(until, damaged.length));
    }
  }
  return damaged;
}
