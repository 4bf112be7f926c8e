import { expect, test } from 'vitest';
import { sealText, unsealText } from './sealed-text.ts';

test('every flipped bit and every cut of a sealed text is noticed', () => {
  const text = '{"host":"127.0.0.1","é":1}\n';
  const sealed = Buffer.from(sealText(text));
  expect(unsealText(sealed)).toEqual({ text });
  // Without its space it is the text of an older version, which was an object.
  const isObject = (read: ReturnType<typeof unsealText>) => {
    try {
      return 'text' in read && typeof JSON.parse(read.text) === 'object';
    } catch {
      return false;
    }
  };
  for (let at = 0; at < sealed.length * 8; at++) {
    const flipped = Buffer.from(sealed);
    flipped[at >> 3] = flipped[at >> 3]! ^ (1 << (at & 7));
    expect(isObject(unsealText(flipped))).toBe(false);
  }
  for (let cut = 0; cut < sealed.length; cut++) {
    expect(isObject(unsealText(sealed.subarray(0, cut)))).toBe(cut === sealed.length);
  }
});

test('what version 0.1.0 wrote is taken as it is', () => {
  expect(unsealText(Buffer.from('{"a": 1}'))).toEqual({ text: '{"a": 1}' });
  expect(unsealText(Buffer.from(' \n'))).toEqual({ damage: 'is empty' });
});
