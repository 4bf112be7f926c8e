import { describe, expect, test } from 'vitest';
import { parsePrefix } from './prefix.ts';
import { specialRangeProblem } from './special-ranges.ts';

const problem = (cidr: string) => specialRangeProblem(parsePrefix(cidr)!);

describe('ranges that are not for pods', () => {
  test.each([
    '127.0.0.0/8',
    '127.5.0.0/16',
    '224.0.0.0/4',
    '239.1.2.0/24',
    '169.254.0.0/16',
    '0.0.0.0/8',
    '0.0.0.0/0',
    '126.0.0.0/7',
    '255.255.255.0/24',
    'fe80::/10',
    'fe80:5::/48',
    'ff00::/8',
    '::/0',
  ])('%s', (cidr) => expect(problem(cidr)).toContain(`${cidr} overlaps `));

  test.each([
    '10.0.0.0/8',
    '100.64.0.0/10',
    '126.0.0.0/8',
    '240.0.0.0/5',
    '2001:db8::/32',
    'fd00::/8',
    'fec0::/10',
  ])('but %s is', (cidr) => expect(problem(cidr)).toBeUndefined());

  test('the words say which range, and why', () => {
    expect(problem('127.5.0.0/16')).toBe(
      '127.5.0.0/16 overlaps 127.0.0.0/8 (loopback, RFC 1122), which is not for pods or Services',
    );
  });
});
