/**
 * The agent's Unix socket: for root alone, and of one agent at a time. Two agents with a
 * folder each may be given one path. Whoever came second would take away the socket of the
 * first, which would go on serving pods that nobody can ask it about. So the path has a
 * lock of its own, and what is there is removed only if it is a socket and nobody answers.
 */
import { chmod, lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { CadastreError } from '../base/errors.ts';
import { lockFile } from '../base/file-lock.ts';
import type { HttpServer } from '../base/http-server.ts';

export interface PrivateSocket {
  close(): Promise<void>;
}

const remedy = 'stop that one first, or give each agent its own --socket';

/** Only root may ask: whoever holds the socket can free anybody's address. */
export async function listenOnSocket(server: HttpServer, path: string): Promise<PrivateSocket> {
  const lock = lockFile(`${path}.lock`, path, remedy);
  try {
    await removeDeadSocket(path);
    // From the first moment on, not a moment after: the mask applies to bind() itself.
    const mask = process.umask(0o177);
    try {
      await server.listen({ socketPath: path });
    } finally {
      process.umask(mask);
    }
    await chmod(path, 0o600);
  } catch (error) {
    lock.release();
    throw error;
  }
  return {
    close: async () => {
      await server.close();
      lock.release();
    },
  };
}

async function removeDeadSocket(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new CadastreError('BAD_FLAG', `--socket=${path} is there already and is no socket`, {
      remedy: 'Give the path of a socket; what is there is left as it is.',
    });
  }
  // An agent without the lock, of an earlier version, or another program.
  if (await answers(path)) {
    throw new CadastreError('STATE_LOCKED', `${path} is in use: a process answers there`, {
      remedy,
    });
  }
  await rm(path, { force: true });
}

/** Only a refused connection says that nobody listens; a full queue, or no right, does not. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}
