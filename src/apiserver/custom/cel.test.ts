import { expect, test } from 'vitest';
import { compile, type Expression } from './cel.ts';
import { celValue, escapeName } from './cel-value.ts';

const run = (source: string, self: unknown = null, oldSelf?: unknown) => {
  const made = compile(source);
  if ('complaint' in made) throw new Error(made.complaint);
  return made.evaluate(self, oldSelf);
};

test.each([
  ["isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0') && !isCIDR('x')"],
  ["isCIDR('10.0.0.1/8') && string(cidr('10.0.0.1/8').masked()) == '10.0.0.0/8'"],
  ["string(cidr('fd00:0::1/48').masked()) == 'fd00::/48'"],
  ["!isCIDR('::ffff:10.0.0.0/104') && !isIP('::ffff:10.0.0.1') && !isIP('fe80::1%eth0')"],
  ["cidr('10.0.0.0/8').prefixLength() == 8 && cidr('10.0.0.0/8').ip().family() == 4"],
  ["cidr('10.0.0.0/8').containsIP('10.9.9.9') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.0'))"],
  [
    "cidr('10.0.0.0/8').containsCIDR('10.5.0.0/16') && !cidr('10.5.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
  ],
  ["!cidr('10.0.0.0/8').containsCIDR('fd00::/48')"],
  ["ip.isCanonical('fd00::1') && !ip.isCanonical('fd00:0::1')"],
  ["ip('127.0.0.1').isLoopback() && ip('::1').isLoopback() && ip('0.0.0.0').isUnspecified()"],
  ["ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()"],
  ["ip('224.0.0.5').isLinkLocalMulticast() && ip('ff02::5').isLinkLocalMulticast()"],
  ["ip('10.0.0.1').isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast()"],
  ["'a.b.c'.replace('.', '-') == 'a-b-c' && 'a.b.c'.replace('.', '-', 1) == 'a-b.c'"],
  ["'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b'"],
  ["'abc'.find('[b-z]+') == 'bc' && 'abab'.findAll('a') == ['a', 'a']"],
  ['[1, 2, 2].isSorted() && ![2, 1].isSorted() && [1, 2].sum() == 3 && [3, 9, 4].max() == 9'],
  ["isURL('https://ex.dev/x') && !isURL('nope')"],
  ["size([1, 2]) == 2 && size('ab') == 2 && 'a' in {'a': 1} && !(3 in [1, 2])"],
  ['[1, 2, 3].exists_one(n, n == 2) && [1, 2].all(n, n > 0) && [1, 2].map(n, n * 2) == [2, 4]'],
  ['optional.none().orValue(1) == 1'],
])('%s', (source) => {
  expect(run(source)).toBe(true);
});

test('only a rule that speaks of the past is about changes', () => {
  const isTransition = (source: string) => (compile(source) as Expression).isTransition;
  expect(isTransition('self == oldSelf')).toBe(true);
  expect(isTransition("self != 'oldSelf'")).toBe(false);
});

test('what cannot work is refused before it runs', () => {
  for (const source of ['self >', 'nope(self)', 'other == 1', "1 + 'a'"]) {
    expect(compile(source)).toHaveProperty('complaint');
  }
});

test('values: whole numbers, fractions, times, and names that are no identifiers', () => {
  const schema = {
    type: 'object',
    properties: {
      whole: { type: 'integer' },
      part: { type: 'number' },
      when: { type: 'string', format: 'date-time' },
      'x-y': { type: 'string' },
      namespace: { type: 'string' },
      map: { type: 'object', additionalProperties: { type: 'integer' } },
    },
  };
  const value = {
    whole: 2,
    part: 2,
    when: '2026-01-01T00:00:00Z',
    'x-y': 'z',
    namespace: 'n',
    map: { 'a-b': 1 },
  };
  const self = celValue(value, schema, (each) => each ?? {});
  expect(run('self.whole + 1 == 3 && self.part + 0.5 == 2.5', self)).toBe(true);
  expect(run("self.when < timestamp('2027-01-01T00:00:00Z')", self)).toBe(true);
  expect(run("self.x__dash__y == 'z' && self.__namespace__ == 'n'", self)).toBe(true);
  expect(run("self.map['a-b'] == 1", self)).toBe(true);
  expect(escapeName('a.b/c__d')).toBe('a__dot__b__slash__c__underscores__d');
});
