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
  listen(server: HttpServer): Promise<void>;
  /** Ends the server, if it listens, and lets another process have the path. */
  close(): Promise<void>;
}

const remedy = 'stop that one first, or give each agent its own --socket';

/** Before anything else is touched: an agent that is one too many leaves everything as it is. */
export async function claimSocket(path: string): Promise<PrivateSocket> {
  // Before the lock, too, which would leave its file beside what is no socket.
  await isThere(path);
  const lock = lockFile(`${path}.lock`, path, remedy);
  try {
    await removeDeadSocket(path);
  } catch (error) {
    lock.release();
    throw error;
  }
  let listening: HttpServer | undefined;
  return {
    listen: async (server) => {
      // From the first moment on, not a moment after: the mask applies to bind() itself.
      // Only root may ask: whoever holds the socket can free anybody's address.
      const mask = process.umask(0o177);
      try {
        await server.listen({ socketPath: path });
      } finally {
        process.umask(mask);
      }
      listening = server;
      await chmod(path, 0o600);
    },
    close: async () => {
      await listening?.close();
      lock.release();
    },
  };
}

async function removeDeadSocket(path: string): Promise<void> {
  if (!(await isThere(path))) return;
  // An agent without the lock, of an earlier version, or another program.
  if (await answers(path)) {
    throw new CadastreError('STATE_LOCKED', `${path} is in use: a process answers there`, {
      remedy,
    });
  }
  await rm(path, { force: true });
}

/** Refuses what is no socket, links to one included. */
async function isThere(path: string): Promise<boolean> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new CadastreError('BAD_FLAG', `--socket=${path} cannot be used: ${error.code}`, {
      cause: error,
      remedy: 'Give a path in a folder that only root can write to.',
    });
  });
  if (found === undefined || found.isSocket()) return found !== undefined;
  throw new CadastreError('BAD_FLAG', `--socket=${path} is there already and is no socket`, {
    remedy: 'Give the path of a socket; what is there is left as it is.',
  });
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
