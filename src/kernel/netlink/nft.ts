/**
 * The `nft` program, for one table. Not netlink: a rule there is a small
 * program in the kernel's own virtual machine, nft's compiler for it is the
 * one everybody debugs with, and masquerade changes a few times a day.
 */
import { spawn } from 'node:child_process';
import { CadastreError } from '../../base/errors.ts';
import {
  type MasqueradeRules,
  masqueradeScript,
  masqueradeTable,
  readMasquerade,
} from '../masquerade.ts';

export async function applyMasquerade(
  namespacePath: string | undefined,
  rules: MasqueradeRules | undefined,
): Promise<void> {
  const answer = await runNft(namespacePath, ['-f', '-'], masqueradeScript(rules));
  if (answer.exitCode === 0) return;
  const isForbidden = answer.stderr.includes('Operation not permitted');
  throw new CadastreError(
    isForbidden ? 'KERNEL_NOT_PERMITTED' : 'KERNEL_REFUSED',
    `nft refused our table: ${answer.stderr.trim()}`,
  );
}

export async function listMasquerade(
  namespacePath: string | undefined,
): Promise<MasqueradeRules | 'changed' | undefined> {
  const answer = await runNft(namespacePath, ['-j', 'list', 'table', 'inet', masqueradeTable], '');
  if (answer.exitCode === 0) return readMasquerade(answer.stdout) ?? 'changed';
  if (answer.stderr.includes('No such file or directory')) return undefined;
  throw new CadastreError('KERNEL_REFUSED', `nft cannot list our table: ${answer.stderr.trim()}`);
}

interface Answer {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

function runNft(
  namespacePath: string | undefined,
  args: readonly string[],
  input: string,
): Promise<Answer> {
  const [command, ...words] =
    namespacePath === undefined
      ? (['nft', ...args] as const)
      : (['nsenter', `--net=${namespacePath}`, 'nft', ...args] as const);
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { stdio: 'pipe' });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', (cause) => reject(noProgram(cause)));
    child.on('close', (exitCode) => {
      // 126 and 127 are nsenter's, for a program that it could not start.
      if (exitCode === 126 || exitCode === 127) reject(noProgram(new Error(stderr.trim())));
      else resolve({ exitCode, stdout, stderr });
    });
    // A program that did not start has no ears; the error above says so.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

function noProgram(cause: Error): CadastreError {
  return new CadastreError(
    'KERNEL_LACKS',
    'masquerade needs the program nft, which does not start',
    { cause, remedy: 'Install the package nftables, or switch masquerade off.' },
  );
}
