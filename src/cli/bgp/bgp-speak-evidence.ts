/**
 * What `bgp speak` can prove about its own past (RFC 4724). It has restarted if
 * an earlier run was alive within the restart time: the age of a file that every
 * run keeps young says so, even after a crash. It has kept forwarding if the
 * kernel still has a route for everything it announces.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type BootClock, bootClock } from '../../base/boot-clock.ts';
import type { Announcement } from '../../bgp/rib/announcement.ts';
import type { RestartEvidence } from '../../bgp/session/session-negotiation.ts';
import { type Family, families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

export class RestartMark {
  readonly #path: string;
  readonly #clock: BootClock;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, clock: BootClock = bootClock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Whether an earlier run was alive that recently. To be asked before `keepYoung`. */
  wasAliveWithin(seconds: number, nowMs: number): boolean {
    return this.aliveAgoMs(nowMs) <= seconds * 1000;
  }

  /** How long ago an earlier run was alive; infinite: none that left without a drain. */
  aliveAgoMs(nowMs: number): number {
    try {
      const [, bootId, text] = readFileSync(this.#path, 'utf8').trim().split(' ');
      const { mtimeMs } = statSync(this.#path);
      // After a boot only the wall clock is left to ask.
      const isSameBoot = bootId !== undefined && bootId === this.#clock.bootId;
      const agoMs = isSameBoot ? this.#clock.sinceBootMs() - Number(text) : nowMs - mtimeMs;
      return Number.isNaN(agoMs) ? Number.POSITIVE_INFINITY : agoMs;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }

  keepYoung(everyMs: number): void {
    this.#touch();
    this.#timer = setInterval(() => this.#touch(), everyMs);
    this.#timer.unref();
  }

  stop(how: 'restart' | 'drain'): void {
    clearInterval(this.#timer);
    if (how === 'drain') rmSync(this.#path, { force: true });
    else this.#touch();
  }

  /** On a full disk, or without the folder, a restart looks like a first start: no more than that. */
  #touch(): void {
    const { bootId, sinceBootMs } = this.#clock;
    try {
      writeFileSync(this.#path, `${process.pid} ${bootId} ${sinceBootMs()}\n`);
    } catch {
      // The next one may pass.
    }
  }
}

export function evidenceFor(
  announcements: readonly Announcement[],
  hasRestarted: boolean,
  kernel: Readonly<Record<Family, readonly Prefix[]>>,
): RestartEvidence {
  return {
    hasRestarted,
    forwarding: families.filter((family) => {
      const ours = announcements.flatMap((a) => parsePrefix(a.prefix) ?? []);
      const mine = ours.filter((prefix) => prefix.family === family);
      return mine.every((prefix) => kernel[family].some((route) => carries(route, prefix)));
    }),
  };
}

/** A default route carries everything and proves nothing. */
function carries(route: Prefix, prefix: Prefix): boolean {
  return route.length > 0 && route.overlaps(prefix);
}

/** The kernel's main tables, as Linux shows them without a tool. */
export function readKernelRoutes(): Record<Family, Prefix[]> {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  };
  return {
    ipv4: parseProcRoute(read('/proc/net/route')),
    ipv6: parseProcIpv6Route(read('/proc/net/ipv6_route')),
  };
}

/** `/proc/net/route`: destination and mask as little-endian hex in columns 2 and 8. */
export function parseProcRoute(text: string): Prefix[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const columns = line.trim().split(/\s+/);
      const [destination, mask] = [columns[1], columns[7]];
      if (destination === undefined || mask === undefined) return [];
      const octets = Buffer.from(destination, 'hex').reverse();
      const length = [...Buffer.from(mask, 'hex')].reduce((sum, octet) => sum + bits(octet), 0);
      return parsePrefix(`${octets.join('.')}/${length}`) ?? [];
    });
}

/** `/proc/net/ipv6_route`: destination as 32 hex digits and its length in hex. */
export function parseProcIpv6Route(text: string): Prefix[] {
  return text.split('\n').flatMap((line) => {
    const columns = line.trim().split(/\s+/);
    const [destination, length, device] = [columns[0], columns[1], columns.at(-1)];
    if (destination?.length !== 32 || length === undefined || device === 'lo') return [];
    const groups = destination.match(/.{4}/g) ?? [];
    return parsePrefix(`${groups.join(':')}/${Number.parseInt(length, 16)}`) ?? [];
  });
}

function bits(octet: number): number {
  return octet.toString(2).replaceAll('0', '').length;
}
