import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAuthority, issueCertificate } from './certificate.ts';

const constructed = 0x20;

/** Every length in the DER, as the octets that say it. */
function lengthsOf(der: Buffer): number[][] {
  const found: number[][] = [];
  for (let at = 0; at < der.length; ) {
    const tag = der[at]!;
    const first = der[at + 1]!;
    const octets = first < 0x80 ? 0 : first & 0x7f;
    const head = [...der.subarray(at + 1, at + 2 + octets)];
    const length = octets === 0 ? first : der.readUIntBE(at + 2, octets);
    const start = at + 2 + octets;
    found.push(head);
    if (tag & constructed) found.push(...lengthsOf(der.subarray(start, start + length)));
    at = start + length;
  }
  return found;
}

test('every length has its shortest form, however many names there are: Go refuses any other', () => {
  const authority = createAuthority('test');
  for (let count = 1; count <= 20; count++) {
    const hosts = Array.from({ length: count }, (_, at) => `name-${at}.example`);
    const { certPem } = issueCertificate(authority, { commonName: 'x', use: 'server', hosts });
    for (const [first = 0, second = 0] of lengthsOf(new X509Certificate(certPem).raw)) {
      if (first === 0x81) expect(second).toBeGreaterThanOrEqual(0x80);
      if (first === 0x82) expect(second).toBeGreaterThan(0);
    }
  }
});
