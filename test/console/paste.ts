/** A command as one pastes it: into bash, at the root of the checkout, with kubectl in the PATH. */
import { execFile } from 'node:child_process';
import { ensureKubeParts } from '../../scripts/parts.mjs';
import { root } from '../cli/built-command.ts';
import type { UpProcess } from '../up/up-process.ts';

export async function paste(
  command: string,
  { dir }: Pick<UpProcess, 'dir'>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    ...process.env,
    HOME: dir,
    KUBECONFIG: '',
    PATH: `${await ensureKubeParts()}:${process.env.PATH}`,
  };
  return new Promise((resolve) => {
    execFile('bash', ['-c', command], { cwd: root, env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}
