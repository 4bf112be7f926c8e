/**
 * Numbers under /proc/sys/net of a namespace: it shows that of the thread which opens the file.
 * So does a mount of it elsewhere, which a container needs that is not privileged: runtimes
 * mount its own /proc/sys read-only, and let nothing be mounted over it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Setting } from '../kernel.ts';
import { KernelError } from '../kernel-error.ts';
import { inNamespace } from './namespace.ts';

export const procSysNet = '/proc/sys/net';

export class KernelSettings {
  readonly #folder: string;

  constructor(folder = procSysNet) {
    this.#folder = folder;
  }

  read(namespaceFd: number | undefined, setting: Setting): number {
    const path = join(this.#folder, pathOf(setting));
    return attempt(`read ${path}`, () =>
      Number(inNamespace(namespaceFd, () => readFileSync(path, 'utf8'))),
    );
  }

  write(namespaceFd: number | undefined, setting: Setting, value: number): void {
    const path = join(this.#folder, pathOf(setting));
    attempt(`write ${value} to ${path}`, () =>
      inNamespace(namespaceFd, () => {
        // Writing the forwarding switch resets per-interface settings even if nothing changes.
        if (Number(readFileSync(path, 'utf8')) !== value) writeFileSync(path, `${value}\n`);
      }),
    );
  }
}

function pathOf(setting: Setting): string {
  switch (setting.kind) {
    case 'forwarding':
      return setting.family === 'ipv4' ? 'ipv4/ip_forward' : 'ipv6/conf/all/forwarding';
    case 'reversePathFilter':
      return `ipv4/conf/${setting.link}/rp_filter`;
    case 'proxyArp':
      return `ipv4/conf/${setting.link}/proxy_arp`;
    case 'proxyNdp':
      return `ipv6/conf/${setting.link}/proxy_ndp`;
    case 'disableIpv6':
      return `ipv6/conf/${setting.link}/disable_ipv6`;
  }
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const errno = (error as NodeJS.ErrnoException).code;
    if (errno === undefined || error instanceof KernelError) throw error;
    if (errno !== 'EROFS') throw new KernelError(what, errno);
    throw new KernelError(what, errno, {
      code: 'KERNEL_NOT_PERMITTED',
      detail:
        'read-only in this container: mount /proc/sys/net of the host and name that folder with --proc-sys-net',
      remedy: 'deploy/agent.yaml has such a mount.',
    });
  }
}
