/** Numbers under /proc/sys/net of a namespace: it shows that of the thread which opens the file. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Setting } from '../kernel.ts';
import { KernelError } from '../kernel-error.ts';
import { inNamespace } from './namespace.ts';

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

export function readSetting(namespaceFd: number | undefined, setting: Setting): number {
  const path = `/proc/sys/net/${pathOf(setting)}`;
  return attempt(`read ${path}`, () =>
    Number(inNamespace(namespaceFd, () => readFileSync(path, 'utf8'))),
  );
}

export function writeSetting(
  namespaceFd: number | undefined,
  setting: Setting,
  value: number,
): void {
  const path = `/proc/sys/net/${pathOf(setting)}`;
  attempt(`write ${value} to ${path}`, () =>
    inNamespace(namespaceFd, () => {
      // Writing the forwarding switch resets per-interface settings even if nothing changes.
      if (Number(readFileSync(path, 'utf8')) !== value) writeFileSync(path, `${value}\n`);
    }),
  );
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const errno = (error as NodeJS.ErrnoException).code;
    if (errno === undefined || error instanceof KernelError) throw error;
    // /proc/sys is mounted read-only in a container that is not privileged.
    if (errno === 'EROFS') throw new KernelError(what, errno, { code: 'KERNEL_NOT_PERMITTED' });
    throw new KernelError(what, errno);
  }
}
