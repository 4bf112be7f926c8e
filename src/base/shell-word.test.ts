import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellWord } from './shell-word.ts';

test.each(['/home/me/data', '/tmp/with space', "it's", '$HOME; echo no', 'a"b`c`\\d', ''])(
  'a shell reads %j as one word',
  (text) => {
    const read = execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' });
    expect(read).toBe(text);
  },
);

test('what needs no quotes has none', () => {
  expect(shellWord('/tmp/a-b_c/0.1')).toBe('/tmp/a-b_c/0.1');
});
