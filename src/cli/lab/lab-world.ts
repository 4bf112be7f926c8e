/** What the commands of `cadastre lab` share: where labs are, and which one is meant. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import type { LabWorld } from '../../lab/lab.ts';
import type { Terminal } from '../terminal.ts';

export function openWorld(terminal: Terminal): LabWorld {
  if (process.platform !== 'linux') {
    throw new CadastreError('KERNEL_UNAVAILABLE', `a lab needs Linux; this is ${process.platform}`);
  }
  if (process.getuid?.() !== 0) {
    throw new CadastreError('KERNEL_NOT_PERMITTED', 'a lab needs root, for network namespaces', {
      remedy: 'Run it with sudo.',
    });
  }
  // All parts of the built program lie beside it.
  const program = join(import.meta.dirname, 'cadastre.mjs');
  return {
    root: terminal.env.CADASTRE_LABS ?? '/run/cadastre-lab',
    cadastre: [process.execPath, '--enable-source-maps', program],
    env: terminal.env,
    say: (line) => terminal.say(line),
  };
}

export async function chooseLab(
  world: LabWorld,
  name: string | undefined,
  kind: 'lab' | 'cluster' = 'lab',
): Promise<string> {
  if (name !== undefined) return checkName(name);
  const { listLabs } = await import('../../lab/folder.ts');
  const labs = listLabs(world.root);
  if (labs.length === 1) return labs[0]!;
  if (labs.length === 0) {
    throw new CadastreError('NO_LAB', `there is no ${kind} on this machine`, {
      remedy: `Make one: cadastre lab ${kind === 'lab' ? 'up incident' : 'cluster up'}`,
    });
  }
  throw new CadastreError('BAD_USAGE', `there are ${labs.length} ${kind}s: ${labs.join(', ')}`, {
    remedy: kind === 'lab' ? 'Say which one, with --name.' : 'Say which one.',
  });
}

export function checkName(name: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/.test(name)) return name;
  throw new CadastreError(
    'BAD_FLAG',
    `--name=${name} must be up to 20 small letters, digits and dashes`,
  );
}

/** A command with our own terminal; its exit code. */
export function runForeground(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
}
