import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Told } from './collecting-terminal.ts';

export const root = join(import.meta.dirname, '..', '..');

/** Runs bin/cadastre as a person does: another process, from the root of the checkout. */
export async function runBuilt(
  argv: readonly string[],
  options: { stdin?: string; env?: Record<string, string> } = {},
): Promise<Told> {
  const child = spawn(process.execPath, [join(root, 'bin/cadastre'), ...argv], {
    cwd: root,
    env: { ...process.env, KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '', ...options.env },
  });
  child.stdin.end(options.stdin ?? '');
  const [stdout, stderr, code] = await Promise.all([
    collect(child.stdout),
    collect(child.stderr),
    new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1))),
  ]);
  // A build that takes long, or waits for another, says so; it is no output of the command.
  return { code, stdout, stderr: stderr.replace(/^(?:build|setup): .*\n/gm, '') };
}

async function collect(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const piece of stream.setEncoding('utf8')) text += piece;
  return text;
}
