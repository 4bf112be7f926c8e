import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { eventually } from '../eventually.ts';
import type { LabProcesses } from '../processes.ts';
import type { RouterProcess } from './router.ts';

interface RouterStart {
  readonly name: string;
  readonly namespace: string;
  readonly folder: string;
  /** Its configuration: file name and text. */
  readonly files: Readonly<Record<string, string>>;
  readonly processes: readonly RouterProcess[];
  /** Who the files must belong to; root unless said. */
  readonly user: string | undefined;
}

/** Writes a router's configuration and starts its processes, each when the one before serves. */
export async function startRouterSoftware(
  processes: LabProcesses,
  { name, namespace, folder, files, processes: parts, user }: RouterStart,
): Promise<void> {
  const owner = user === undefined ? undefined : idsOf(user);
  const own = (path: string) => owner && chownSync(path, owner.uid, owner.gid);
  chmodSync(folder, 0o755);
  own(folder);
  for (const [file, text] of Object.entries(files)) {
    writeFileSync(join(folder, file), text);
    own(join(folder, file));
  }
  for (const part of parts) {
    rmSync(part.readyPath, { force: true });
    const process = `${name}-${part.name}`;
    processes.start(process, namespace, part.command);
    await eventually(
      `${process} serves`,
      () => {
        if (existsSync(part.readyPath)) return true;
        if (processes.isRunning(process)) return undefined;
        throw new CadastreError('LAB_FAILED', `${process} ended: ${processes.tail(process)}`);
      },
      { everyMs: 10, withinMs: 30_000 },
    );
  }
}

function idsOf(user: string): { uid: number; gid: number } {
  const ask = (flag: string) =>
    Number(
      execFileSync('id', [flag, user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  return { uid: ask('-u'), gid: ask('-g') };
}
