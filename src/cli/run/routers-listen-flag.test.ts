import { expect, test } from 'vitest';
import { routersListenFlag } from './routers-listen-flag.ts';

const read = routersListenFlag('--witness');

test('one place after the other, BMP where nothing is said', () => {
  const plans = read('[::]:179', read('bgp=0.0.0.0:1790,as=64512,peer-as=64524'));
  expect(plans).toEqual([
    { protocol: 'bgp', host: '0.0.0.0', port: 1790, localAsn: 64512, peerAsn: 64524 },
    { protocol: 'bmp', host: '::', port: 179 },
  ]);
});

test.each([
  ['nowhere', 'is not an address and port'],
  ['bmp=0.0.0.0:99999', 'is not an address and port'],
  ['bmp=0.0.0.0:11019,as=1', 'has an AS number, which BMP does not need'],
  ['bgp=0.0.0.0:179,as=1', 'lacks as=OURS or peer-as=THEIRS'],
  ['bgp=0.0.0.0:179,as=0,peer-as=1', 'has "as=0", which is neither as=NUMBER nor peer-as=NUMBER'],
])('%s is refused by the name of the flag', (text, why) => {
  expect(() => read(text)).toThrow(`--witness=${text} ${why}`);
});
