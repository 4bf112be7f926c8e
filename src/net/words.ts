/**
 * An address is four int32 words, most significant first; IPv4 uses the first
 * alone. int32 and not uint32 because V8 keeps those unboxed in object fields.
 */

/** The word at `index` of the mask of a prefix of `length` bits. */
export function maskWord(length: number, index: 0 | 1 | 2 | 3): number {
  const bits = length - 32 * index;
  if (bits <= 0) return 0;
  return bits >= 32 ? -1 : -1 << (32 - bits);
}

/** Negative, zero or positive as `a` is below, equal to or above `b`, both read as unsigned. */
export function compareWord(a: number, b: number): number {
  return (a >>> 0) - (b >>> 0);
}

export interface Words {
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
}

/** How many leading bits the two have in common, 0 to 128. */
export function commonBits(a: Words, b: Words): number {
  let x = a.w0 ^ b.w0;
  if (x !== 0) return Math.clz32(x);
  x = a.w1 ^ b.w1;
  if (x !== 0) return 32 + Math.clz32(x);
  x = a.w2 ^ b.w2;
  if (x !== 0) return 64 + Math.clz32(x);
  x = a.w3 ^ b.w3;
  return x !== 0 ? 96 + Math.clz32(x) : 128;
}

/** Do the two agree on their first `length` bits? */
export function agree(a: Words, b: Words, length: number): boolean {
  if (length <= 32) return ((a.w0 ^ b.w0) & maskWord(length, 0)) === 0;
  return commonBits(a, b) >= length;
}

export function compareWords(a: Words, b: Words): number {
  return (
    compareWord(a.w0, b.w0) ||
    compareWord(a.w1, b.w1) ||
    compareWord(a.w2, b.w2) ||
    compareWord(a.w3, b.w3)
  );
}
