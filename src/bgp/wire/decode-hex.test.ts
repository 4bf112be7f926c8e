import { describe, expect, test } from 'vitest';
import { CadastreError } from '../../base/errors.ts';
import { decodeHex } from './decode-hex.ts';

const plain = { as2: false, addPath: false, ibgp: false };
const keepalive = 'ffffffffffffffffffffffffffffffff001304';

describe('a message in hex', () => {
  test('may be spaced as captures space it', () => {
    const spaced = keepalive.replace(/../g, '$& ').toUpperCase();
    expect(decodeHex(`  ${spaced}\n`, plain)).toEqual({ type: 'keepalive' });
    expect(decodeHex(keepalive.replace(/..(?=.)/g, '$&:'), plain)).toEqual({ type: 'keepalive' });
  });

  test('that is no hex is refused with what to do', () => {
    for (const text of ['', '  ', 'xyz', 'fff']) {
      expect(() => decodeHex(text, plain)).toThrow(CadastreError);
    }
  });

  test('is read with the AS numbers, paths and kind of peer that are given', () => {
    const two =
      'ffffffffffffffffffffffffffffffff002d02000000124001010040020402015ba04003040a000002180a0570';
    expect(decodeHex(two, { ...plain, as2: true })).toMatchObject({
      attributes: { asPath: [{ type: 'seq', asns: [23456] }] },
    });
    const localPref =
      'ffffffffffffffffffffffffffffffff0030020000001540010100400200400304650165014005040000006418010100';
    expect(decodeHex(localPref, { ...plain, ibgp: true })).toMatchObject({
      attributes: { localPref: 100 },
    });
    expect(decodeHex(localPref, plain)).toEqual({
      type: 'update',
      withdrawn: [],
      attributes: { origin: 'igp', asPath: [], nextHop: '101.1.101.1' },
      nlri: ['1.1.0.0/24'],
      errors: [
        {
          action: 'attribute-discard',
          attribute: 5,
          code: 3,
          subcode: 0,
          detail: 'LOCAL_PREF: from an external peer',
        },
      ],
    });
  });

  test('that ends the session says with which NOTIFICATION', () => {
    expect(decodeHex('ffffffffffffffffffffffffffffffff001204', plain)).toEqual({
      error: {
        action: 'session-reset',
        code: 1,
        subcode: 2,
        data: '0012',
        detail: 'message length 18',
      },
    });
  });
});
