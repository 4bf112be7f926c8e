import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { ensureKubeParts } from '../../scripts/parts.mjs';

export interface KubectlAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Runs kubectl against the API server; a refusal is an answer, not an error. */
export async function kubectl(
  api: { kubeconfigPath: string; dir: string },
  args: string[],
  options: { stdin?: string; context?: string; env?: Record<string, string> } = {},
): Promise<KubectlAnswer> {
  const binary = join(await ensureKubeParts(), 'kubectl');
  const context = options.context === undefined ? [] : [`--context=${options.context}`];
  return new Promise((resolve, reject) => {
    const child = execFile(
      binary,
      [`--kubeconfig=${api.kubeconfigPath}`, ...context, ...args],
      // HOME decides where the discovery cache goes: into the folder that stop() removes.
      { env: { ...process.env, HOME: api.dir, ...options.env }, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error && typeof error.code !== 'number') reject(error);
        else
          resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
      },
    );
    child.stdin?.end(options.stdin ?? '');
  });
}
