/**
 * The socket of an agent that only announces: what it is doing, for `cadastre status`. It knows
 * no pod address, so there is no route for one, and none for the CNI plugin.
 */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { lockFolder } from '../base/folder-lock.ts';
import { HttpServer } from '../base/http-server.ts';
import type { Log, LogLevelSwitch } from '../base/log.ts';
import { type AddressStatusJson, agentOperations } from '../model/agent-api.ts';
import { generalRefusal, logLevelHandlers } from './address-api.ts';
import { claimSocket } from './private-socket.ts';

interface StatusServiceOptions {
  stateFolder: string;
  socketPath: string;
  agentStatus: () => object;
  log: Log;
  logLevel?: LogLevelSwitch | undefined;
}

const noAddresses: AddressStatusJson = {
  lines: ['another program gives the addresses of pods'],
  blocks: [],
};

/** Returns how to stop it. */
export async function startStatusService(
  options: StatusServiceOptions,
): Promise<() => Promise<void>> {
  const { stateFolder, socketPath, agentStatus, log, logLevel = { level: 'info' } } = options;
  const lock = await lockFolder(stateFolder);
  try {
    await mkdir(dirname(socketPath), { recursive: true });
    const socket = await claimSocket(socketPath);
    const server = new HttpServer({ log, refusalBody: generalRefusal });
    const { method, path } = agentOperations.status;
    server.on(method, path, () => ({ body: { ...noAddresses, agent: agentStatus() } }));
    const handlers = logLevelHandlers(logLevel);
    for (const name of ['logLevel', 'setLogLevel'] as const) {
      server.on(agentOperations[name].method, agentOperations[name].path, handlers[name]);
    }
    await socket.listen(server);
    return async () => {
      await socket.close();
      lock.release();
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
