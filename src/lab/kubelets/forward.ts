/**
 * How a person, kubectl and helm reach the API server from the machine itself: a
 * port of its loopback. The process lives in the namespace `control`, as every
 * process of a lab; only the socket that it listens on belongs to the machine.
 */
import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { CadastreError } from '../../base/errors.ts';
import { nativeNetlink } from '../../kernel/netlink/native.ts';
import { whenAborted } from '../../kube/on-abort.ts';
import { apiServerPort, control } from './layout.ts';

/** `outside`: the network namespace of the machine. Writes the port that it got to `portFile`. */
export async function forwardApiServer(
  outside: string,
  portFile: string,
  signal: AbortSignal,
): Promise<void> {
  const server = createServer((client) => {
    const upstream = connect(apiServerPort, control.ipv4);
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  const home = openSync('/proc/thread-self/ns/net', 'r');
  enter(openSync(outside, 'r'));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  enter(home);
  writeFileSync(`${portFile}.next`, String((server.address() as AddressInfo).port));
  renameSync(`${portFile}.next`, portFile);
  await whenAborted(signal);
  server.close();
  server.unref();
}

function enter(namespace: number): void {
  const failed = nativeNetlink().enterNamespace(namespace);
  closeSync(namespace);
  if (failed !== 0) {
    throw new CadastreError('KERNEL_NOT_PERMITTED', `cannot enter a namespace (errno ${failed})`);
  }
}
