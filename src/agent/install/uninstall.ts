/**
 * Takes an agent off its node. Every step is tried, whatever became of the ones before it: what
 * cannot be removed is named, and the next run tries it again. Nothing is done while an agent
 * runs, which would put everything back.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { CadastreError, describeError } from '../../base/errors.ts';
import type { FileLock } from '../../base/file-lock.ts';
import { lockFolder } from '../../base/folder-lock.ts';
import { fileFault } from '../../base/text-file.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { podRouteProtocol } from '../../kernel/route.ts';
import type { KubeClient } from '../../kube/client.ts';
import { claimSocket, type PrivateSocket } from '../private-socket.ts';
import {
  type Removal,
  removeConflist,
  removePlugin,
  removeSocket,
  removeState,
} from './remove-files.ts';
import { removeMasquerade, removeRoutes } from './remove-kernel-state.ts';
import { removeNodeMarks } from './remove-node-marks.ts';

interface UninstallOptions {
  binDir: string;
  confDir: string;
  socketPath: string;
  stateFolder: string;
  /** Whether the state folder goes, too. */
  withState: boolean;
  nodeName: string;
  kernel: Kernel;
  withClient<T>(use: (client: KubeClient) => Promise<T>): Promise<T>;
}

export interface Uninstallation extends Removal {
  problems: string[];
}

export async function uninstall(options: UninstallOptions): Promise<Uninstallation> {
  const { binDir, confDir, socketPath, stateFolder, nodeName, kernel } = options;
  const claims = await claim(socketPath, stateFolder);
  const done: Uninstallation = { removed: [], kept: [], problems: [] };
  const step = async (what: string, remove: () => Promise<Removal>) => {
    try {
      const { removed, kept } = await remove();
      done.removed.push(...removed);
      done.kept.push(...kept);
    } catch (error) {
      const isCoded = error instanceof CadastreError;
      done.problems.push(`${what}: ${isCoded ? describeError(error) : fileFault(error)}`);
    }
  };
  try {
    await step(confDir, () => removeConflist(confDir));
    await step(binDir, () => removePlugin(binDir));
    await step('routes', () => removeRoutes(kernel));
    await step('masquerade', () => removeMasquerade(kernel));
    await step(`Node ${nodeName}`, () =>
      options.withClient((client) => removeNodeMarks(client, nodeName)),
    );
    await step(socketPath, () => removeSocket(socketPath));
    if (options.withState) {
      await step(stateFolder, async () => {
        await assertNoPods(kernel);
        return removeState(stateFolder);
      });
    }
  } finally {
    await claims.socket?.close();
    claims.state?.release();
  }
  return done;
}

async function claim(
  socketPath: string,
  stateFolder: string,
): Promise<{ socket?: PrivateSocket; state?: FileLock }> {
  const state = existsSync(stateFolder) ? { state: await lockFolder(stateFolder) } : {};
  try {
    const socket = existsSync(dirname(socketPath)) ? { socket: await claimSocket(socketPath) } : {};
    return { ...state, ...socket };
  } catch (error) {
    state.state?.release();
    throw error;
  }
}

/** The next agent would give the address of a pod that runs to another one. */
async function assertNoPods(kernel: Kernel): Promise<void> {
  const pods = new Set(
    (await kernel.routes({ protocol: podRouteProtocol })).map(({ device }) => device),
  );
  if (pods.size === 0) return;
  throw new CadastreError(
    'BAD_INPUT',
    `${pods.size} pods still have addresses of this node: end them first (kubectl drain)`,
  );
}
