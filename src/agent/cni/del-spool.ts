/**
 * DELs that came while the agent was away. The plugin leaves each as a file
 * that holds the very request it could not send; the agent does them at start,
 * in every sweep, and before an ADD for the same container.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Log, silentLog } from '../../base/log.ts';
import { hopelessCodes } from './cni-error.ts';
import { readCniInput } from './cni-route.ts';
import type { CniServer } from './cni-server.ts';

export class DelSpool {
  readonly #folder: string;
  readonly #log: Log;

  constructor(folder: string, log: Log = silentLog) {
    this.#folder = folder;
    this.#log = log;
  }

  /** How many were done. What fails for now stays for the next time. */
  async replay(server: CniServer): Promise<number> {
    let done = 0;
    for (const name of await this.#names()) if (await this.#replay(server, name)) done++;
    return done;
  }

  async replayFor(server: CniServer, containerId: string, ifname: string): Promise<void> {
    const name = spoolName(containerId, ifname);
    // Asked on every ADD, and hardly ever yes: a look that does not wait is the cheapest.
    if (existsSync(join(this.#folder, name))) await this.#replay(server, name);
  }

  async #names(): Promise<string[]> {
    try {
      return (await readdir(this.#folder)).filter((name) => name.endsWith('.del')).sort();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  async #replay(server: CniServer, name: string): Promise<boolean> {
    const path = join(this.#folder, name);
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) return false;
    const answer = await server.handle(parseRequest(text));
    if (answer.isError && !hopelessCodes.has(answer.code!)) return false;
    if (answer.isError)
      this.#log.warn(
        { path, detail: answer.body },
        'a DEL that was kept on disk is refused, and dropped',
      );
    await rm(path, { force: true });
    return true;
  }
}

/** As the plugin names it. */
export function spoolName(containerId: string, ifname: string): string {
  return `${containerId}@${ifname}.del`;
}

function parseRequest(text: string) {
  const end = text.indexOf('\r\n\r\n');
  const headers = new Map(
    text
      .slice(0, end)
      .split('\r\n')
      .slice(1)
      .map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
  );
  const input = readCniInput((name) => headers.get(name), text.slice(end + 4));
  // Whatever the file says: nothing but a DEL is ever done from here.
  return { ...input, command: 'DEL' };
}
