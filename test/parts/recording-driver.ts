import type { PodDriver } from '../../src/agent/cni/cni-server.ts';
import { CadastreError } from '../../src/base/errors.ts';
import type { Link, LinkAddress } from '../../src/kernel/link.ts';
import {
  type PodCheck,
  type PodPlace,
  type PodWiring,
  podInterfaceConfig,
  type WiredPod,
} from '../../src/kernel/pod.ts';
import { type KernelRoute, podRouteProtocol } from '../../src/kernel/route.ts';
import { familyBits } from '../../src/net/family.ts';
import { Prefix } from '../../src/net/prefix.ts';

/** Wires nothing, and remembers what it would have: for tests of what is asked of the kernel. */
export class RecordingDriver implements PodDriver {
  readonly namespaces = new Set<string>();
  /** By the host's end. */
  readonly wired = new Map<string, PodWiring>();
  /** Interfaces of other programs in pods, as `NETNS IFNAME`. */
  readonly foreignLinks = new Set<string>();
  /** Host's ends whose routes another program has removed. */
  readonly broken = new Set<string>();
  readonly calls: string[] = [];
  /** Makes the named call fail. */
  failing: string | undefined;

  /** As the kernel does it: the pod's interface goes with it, on both ends. */
  removeNamespace(path: string): void {
    this.namespaces.delete(path);
    for (const [name, { netnsPath }] of this.wired) {
      if (netnsPath === path) this.wired.delete(name);
    }
  }

  async links(): Promise<Link[]> {
    return [...this.wired.values()].map(
      ({ hostIfName, alias }) => ({ name: hostIfName, alias, isUp: true }) as Link,
    );
  }

  async addresses(): Promise<Map<string, LinkAddress[]>> {
    return new Map(
      [...this.wired].map(([name, wiring]) => [name, podInterfaceConfig(wiring).hostAddresses]),
    );
  }

  async routes(): Promise<KernelRoute[]> {
    const whole = [...this.wired.values()].filter((one) => !this.broken.has(one.hostIfName));
    return whole.flatMap(({ hostIfName, addresses }) =>
      addresses.map((address) => ({
        prefix: Prefix.of(address, familyBits(address.family)),
        device: hostIfName,
        protocol: podRouteProtocol,
      })),
    );
  }

  async isOwnNamespace(path: string): Promise<boolean> {
    return path === '/run/netns/node';
  }

  async repairPod(wiring: PodWiring): Promise<void> {
    this.#called('repair', wiring);
    this.broken.delete(wiring.hostIfName);
  }

  async link(name: string): Promise<Link | undefined> {
    if (this.failing === 'link') throw new Error('the kernel refused to link');
    return this.wired.has(name) ? ({ name } as Link) : undefined;
  }

  async hasNamespace(path: string): Promise<boolean> {
    return this.namespaces.has(path);
  }

  async wirePod(wiring: PodWiring): Promise<WiredPod> {
    this.#called('wire', wiring);
    const isTaken = this.foreignLinks.has(`${wiring.netnsPath} ${wiring.ifName}`);
    if (isTaken || this.wired.has(wiring.hostIfName)) {
      throw new CadastreError('LINK_EXISTS', `there is already an interface ${wiring.ifName}`);
    }
    for (const other of this.wired.values()) {
      for (const address of wiring.addresses) {
        if (other.addresses.some((own) => own.equals(address))) {
          throw new Error(`${address} is wired twice`);
        }
      }
    }
    this.wired.set(wiring.hostIfName, wiring);
    return { hostMac: '02:00:00:00:00:01', podMac: '02:00:00:00:00:02', mtu: wiring.mtu ?? 1500 };
  }

  async unwirePod(place: PodPlace): Promise<boolean> {
    this.#called('unwire', place);
    return this.wired.delete(place.hostIfName);
  }

  async checkPod(wiring: PodWiring): Promise<PodCheck> {
    this.#called('check', wiring);
    if (this.broken.has(wiring.hostIfName)) {
      return { kind: 'broken', problems: ['the host lacks the route'] };
    }
    if (this.wired.has(wiring.hostIfName)) return { kind: 'fine' };
    return { kind: 'broken', problems: [`the host has no interface ${wiring.hostIfName}`] };
  }

  #called(what: string, { hostIfName }: PodPlace): void {
    this.calls.push(`${what} ${hostIfName}`);
    if (this.failing === what) throw new Error(`the kernel refused to ${what}`);
  }
}
