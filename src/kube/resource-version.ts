/**
 * resourceVersions are compared as numbers. Kubernetes called them opaque for
 * years, yet every server that can be watched uses etcd's revision, and
 * since 1.35 (KEP-5504) the order is part of the API. Text, not Number: they
 * are 64 bit.
 *
 * Negative when `a` is older. Anything that is not a number is taken as newer
 * than what it is compared with: then we behave like a client that compares
 * nothing.
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0;
  if (!isNumber(a)) return 1;
  if (!isNumber(b)) return 1;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

export function isOlder(a: string, b: string): boolean {
  return compareVersions(a, b) < 0;
}

function isNumber(version: string): boolean {
  return /^[1-9][0-9]*$/.test(version) || version === '0';
}
