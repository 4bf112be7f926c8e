import { describe, expect, test } from 'vitest';
import { run } from '../../test/cli/collecting-terminal.ts';
import { tellFailure } from './failure.ts';
import { wholeProgram } from './program.ts';
import type { Terminal } from './terminal.ts';

describe('help', () => {
  test('names every command, on stdout', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of ['operator', 'nodes', 'pools', 'blocks', 'plan', 'explain']) {
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    }
  });

  test('the page of everything is what the commands themselves say', async () => {
    let text = '';
    const terminal = { columns: 100, env: {}, write: (piece: string) => (text += piece) };
    const program = await wholeProgram(terminal as unknown as Terminal);
    program.outputHelp();
    expect((await run(['--help'])).stdout).toBe(text);
    expect((await run(['help'])).stdout).toBe(text);
  });

  test('every command, and every command below it, has examples, and fits', async () => {
    const seen: string[] = [];
    const visit = async (words: string[]): Promise<void> => {
      const { code, stdout } = await run([...words, '--help']);
      expect([words, code]).toEqual([words, 0]);
      for (const line of stdout.split('\n')) {
        expect(line.length).toBeLessThanOrEqual(100);
      }
      if (words.length > 0) {
        seen.push(words.join(' '));
        expect(stdout).toContain('Examples:\n');
        expect(stdout).toContain(`$ cadastre ${words.join(' ')}`);
      }
      const [, commands = ''] = stdout.split('\nCommands:\n');
      const names = [...commands.split('\n\n')[0]!.matchAll(/^ {2}([a-z-]+)/gm)].map(([, n]) => n!);
      for (const name of names) if (name !== 'help') await visit([...words, name]);
    };
    await visit([]);
    expect(seen).toContain('whatif shrink-pool');
    expect(seen.length).toBeGreaterThan(30);
  });

  test('help about nothing that exists says so', async () => {
    const { code, stdout, stderr } = await run(['help', 'nonsense']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe("cadastre: unknown command 'nonsense'\nSee cadastre --help.\n");
  });

  test('help plan is plan --help', async () => {
    expect((await run(['help', 'plan'])).stdout).toBe((await run(['plan', '--help'])).stdout);
  });

  test('no command at all is wrong usage, and says what there is', async () => {
    const { code, stdout, stderr } = await run([]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Commands:');
  });
});

describe('failures', () => {
  test('the version', async () => {
    const { code, stdout } = await run(['--version']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });

  test('a remedy follows the sentence', async () => {
    const { stderr } = await run(['plan', '--ipam', 'magic']);
    expect(stderr.split('\n')).toEqual([
      'cadastre: --ipam=magic is not a mode Cadastre knows',
      'Use one of: ip-pool, cluster-pool, cluster-pool-v2, multi-pool, kubernetes.',
      '',
    ]);
  });

  test('a wrong flag is found before anything is read', async () => {
    const { code, stderr } = await run(['nodes', '-l', 'a b', '--from', '/no/such/file']);
    expect(code).toBe(2);
    expect(stderr).toContain('--selector=a b');
  });

  test('--debug shows where it came from, wherever it stands', async () => {
    for (const argv of [
      ['--debug', 'plan', '--from', '/no/such/file'],
      ['plan', '--from', '/no/such/file', '--debug'],
    ]) {
      const { code, stderr } = await run(argv);
      expect(code).toBe(1);
      expect(stderr).toContain('    at ');
      expect(stderr).toContain('caused by Error: ENOENT');
    }
  });

  test('what we did not foresee shows its stack', () => {
    const said: string[] = [];
    const terminal = { say: (line: string) => said.push(line) } as never;
    expect(tellFailure(new TypeError('x is not a function'), terminal, false)).toBe(1);
    expect(said[0]).toContain('cadastre: this is a bug: TypeError: x is not a function\n    at ');
  });
});
