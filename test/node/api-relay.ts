/**
 * The API server listens on 127.0.0.1 of the test; inside a namespace that address is another
 * one. Unix sockets know no network namespaces: what connects to the same port there comes out
 * here.
 */
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { type PartProcess, startPart } from '../parts/part-process.ts';

/** Inside a namespace: every connection to 127.0.0.1:PORT goes into a Unix socket. */
const relay = `const [port, path] = process.argv.slice(1);
require('node:net').createServer((near) => {
  const far = require('node:net').connect(path);
  near.on('error', () => far.destroy()).on('close', () => far.destroy()).pipe(far);
  far.on('error', () => near.destroy()).on('close', () => near.destroy()).pipe(near);
}).listen(Number(port), '127.0.0.1');`;

export class ApiRelay {
  readonly port: number;
  readonly #dir: string;
  readonly #proxy: Server;
  readonly #parts: PartProcess[] = [];

  constructor(apiUrl: string, dir: string) {
    this.port = Number(new URL(apiUrl).port);
    this.#dir = dir;
    this.#proxy = createServer((near) => {
      const far = connect(this.port, '127.0.0.1');
      near
        .on('error', () => far.destroy())
        .on('close', () => far.destroy())
        .pipe(far);
      far
        .on('error', () => near.destroy())
        .on('close', () => near.destroy())
        .pipe(near);
    }).listen(this.#path);
  }

  /** From now on the API server is there too. */
  openIn(netnsPath: string, name: string): void {
    const command = [process.execPath, '-e', relay, String(this.port), this.#path];
    const part = startPart({
      name: `relay-${name}`,
      binary: 'nsenter',
      args: [`--net=${netnsPath}`, ...command],
      logFile: join(this.#dir, `relay-${name}.log`),
      dir: this.#dir,
    });
    this.#parts.push(part);
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.kill9()));
    this.#proxy.close();
  }

  get #path(): string {
    return join(this.#dir, 'api.sock');
  }
}
