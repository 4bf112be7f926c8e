import { expect, test } from 'vitest';
import { compile, type Expression } from './cel.ts';
import { OverBudget, perObject } from './cel-cost.ts';
import { celValue, escapeName } from './cel-value.ts';

const run = (source: string, self: unknown = null, oldSelf?: unknown) => {
  const made = compile(source);
  if ('complaint' in made) throw new Error(made.complaint);
  return made.evaluate(self, oldSelf, perObject).value;
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

test('patterns are RE2: what that does not know is refused, what it knows is linear', () => {
  expect(run("'ab'.matches('^a.$') && !'ab'.matches('^b')")).toBe(true);
  for (const pattern of ['(?=a)', '(a)\\\\1', 'a{1001}', '[']) {
    expect(compile(`self.matches('${pattern}')`)).toHaveProperty('complaint');
  }
  expect(() => run('self.matches(self)', '(?=a)')).toThrow('invalid or unsupported Perl syntax');
  // Each of these takes a backtracking engine longer than the age of the universe.
  expect(run("self.matches('^(a+)+$')", `${'a'.repeat(50_000)}!`)).toBe(false);
  expect(run("self.find('^(a|a)*c') == ''", 'a'.repeat(50_000))).toBe(true);
  expect(run("self.findAll('(a*)*b').size()", 'a'.repeat(10_000))).toBe(0n);
});

const list = Array.from({ length: 2_000 }, (_, at) => BigInt(at));
const long = 'x'.repeat(1_000_000);

test.each([
  ['loops in loops', 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))', list],
  ['errors that a loop takes for values', 'self.all(a, self.exists(b, b.no > 1) || true)', list],
  ['a list that doubles', doubling('self'), list],
  ['a text that doubles', doubling('self'), 'xxxxxxxxxx'],
  ['a text that is replaced by itself', "self.replace('x', self).size() > 0", long],
  ['one text joined many times', "[1,2,3,4,5,6,7,8,9,10,11].map(n, self).join(',') != ''", long],
  ['a comparison in a loop', '[1,2,3,4,5,6].all(n, self + self == self + self)', long],
  ['a search in a loop', '[1,2,3,4,5,6,7,8,9,10].all(n, !self.contains("y"))', long],
  ['a pattern that is too large for a long text', "self.matches('^(x|y){200}z')", long],
])('a rule has a budget: %s', (_, source, self) => {
  expect(() => run(source, self)).toThrow(OverBudget);
});

function doubling(of: string): string {
  const names = Array.from({ length: 60 }, (_, at) => `v${at}`);
  return names.reduceRight(
    (inner, name, at) =>
      `cel.bind(${name}, ${at === 0 ? of : `${names[at - 1]} + ${names[at - 1]}`}, ${inner})`,
    'size(v59) > 0',
  );
}

test('the rules that people write stay far below the budget', () => {
  const cost = (source: string, self: unknown) => {
    const made = compile(source) as Expression;
    return made.evaluate(self, undefined, perObject).cost;
  };
  expect(cost('self.all(a, self.exists_one(b, a == b))', list.slice(0, 100))).toBeLessThan(150_000);
  expect(cost("self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", 'x'.repeat(63))).toBeLessThan(200);
});
