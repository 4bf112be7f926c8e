import { isIPv4, isIPv6 } from 'node:net';

/** Network-order octets of an IPv4 or IPv6 address; a zone (`%eth0`) is left out. */
export function addressBytes(address: string): Uint8Array {
  const plain = address.split('%')[0] ?? '';
  if (isIPv4(plain)) return Uint8Array.from(plain.split('.'), Number);
  if (!isIPv6(plain)) throw new RangeError(`${address} is not an IP address`);
  const withoutDots = plain.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) => {
    const word = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
    return `${word(a, b)}:${word(c, d)}`;
  });
  const [head = '', tail] = withoutDots.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const words = [...left, ...Array(8 - left.length - right.length).fill('0'), ...right];
  const bytes = new Uint8Array(16);
  words.forEach((word, i) => {
    const value = Number.parseInt(word, 16);
    bytes[2 * i] = value >> 8;
    bytes[2 * i + 1] = value & 255;
  });
  return bytes;
}

/** One spelling for one address, so that a connection finds its peer: mapped IPv4 becomes IPv4. */
export function canonicalAddress(address: string): string {
  const [plain = '', zone] = address.split('%');
  if (isIPv4(plain)) return plain;
  const bytes = addressBytes(plain);
  const isMapped =
    bytes.subarray(0, 10).every((b) => b === 0) && bytes[10] === 255 && bytes[11] === 255;
  if (isMapped) return bytes.subarray(12).join('.');
  const words = Array.from({ length: 8 }, (_, i) =>
    ((bytes[2 * i]! << 8) | bytes[2 * i + 1]!).toString(16),
  );
  // RFC 5952: the longest run of zero words, at least two, is written as `::`.
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && words[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  const text =
    best.start < 0
      ? words.join(':')
      : `${words.slice(0, best.start).join(':')}::${words.slice(best.start + best.length).join(':')}`;
  return zone === undefined ? text : `${text}%${zone}`;
}
