/**
 * Brings the kernel in line with what is declared: interfaces of ours, neighbours, routes,
 * forwarding. Each call declares everything. What differs although nothing new
 * was declared is another program's doing: it is restored, counted and logged.
 */
import { plural } from '../base/count-text.ts';
import type { Log } from '../base/log.ts';
import type { Counter, Metrics } from '../base/metrics.ts';
import type { Kernel, RefusedRoute } from '../kernel/kernel.ts';
import { isOurLink } from '../kernel/link.ts';
import { nodeRouteProtocol, routeText, settleRoute } from '../kernel/route.ts';
import { type Family, families } from '../net/family.ts';
import {
  type DesiredRoutes,
  type DesiredTunnel,
  encapsulationOf,
  type Routing,
  tunnelVni,
  type Uplink,
} from '../plan/node/desired-routes.ts';

/** Ours by their prefix. One tunnel a node. */
const deviceOf = { vxlan: 'cad_vxlan', geneve: 'cad_geneve' } as const;
export const tunnelDevices: ReadonlySet<string> = new Set(Object.values(deviceOf));
export const tunnelDeviceOf = (routing: Routing): string =>
  deviceOf[encapsulationOf(routing) ?? 'vxlan'];

export interface RouteReport {
  wanted: number;
  /** Ours that the kernel holds now. */
  held: number;
  refused: ReadonlyArray<{ route: string; reason: string }>;
  /** How often another program's change was restored since the start. */
  repaired: number;
}

export class RouteReconciler {
  readonly #kernel: Kernel;
  readonly #log: Log;
  readonly #repairs: Counter;
  #declared = '';
  #repaired = 0;
  #refused = '';

  constructor(kernel: Kernel, log: Log, metrics: Metrics) {
    this.#kernel = kernel;
    this.#log = log;
    this.#repairs = metrics.counter(
      'cadastre_agent_routes_repaired_total',
      'Routes and tunnel entries of ours that somebody else changed and that were put back.',
    );
    this.#repairs.inc({}, 0);
  }

  /** The interfaces that lead to other nodes. */
  async uplinks(): Promise<Uplink[]> {
    const [links, addresses] = await Promise.all([this.#kernel.links(), this.#kernel.addresses()]);
    return links
      .filter(({ name, isUp }) => isUp && name !== 'lo' && !isOurLink(name))
      .map(({ name, mtu }) => ({ name, mtu, addresses: addresses.get(name) ?? [] }))
      .filter((uplink) => uplink.addresses.length > 0)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async declare({ routes, tunnel }: DesiredRoutes): Promise<RouteReport> {
    const switched = await this.#forward(new Set(routes.map(({ prefix }) => prefix.family)));
    const tunnelled = await this.#keepTunnel(tunnel);
    const declared = `${routes.map((route) => routeText(settleRoute(route))).join('\n')} ${tunnelText(tunnel)}`;
    const outcome = await this.#kernel.setRoutes(routes);
    const changed = {
      routes: outcome.added + outcome.replaced + outcome.removed,
      tunnel: tunnelled,
      forwarding: switched,
    };
    const all = changed.routes + changed.tunnel + changed.forwarding;
    if (declared === this.#declared && all > 0) {
      this.#repaired += all;
      this.#repairs.inc({}, all);
      const { added, replaced, removed } = outcome;
      this.#log.warn(
        { reason: 'RouteRepaired', count: all, changes: { ...changed, added, replaced, removed } },
        `another program changed ${wordsOf(changed)} of ours; restored`,
      );
    }
    if (all > 0) {
      this.#log.debug?.(
        { count: routes.length, changes: { ...outcome, refused: outcome.refused.length } },
        'brought the routes of the kernel in line',
      );
    }
    this.#declared = declared;
    const refused = outcome.refused.map(refusedText);
    this.#tellRefused(refused);
    return {
      wanted: routes.length,
      held: (await this.#kernel.routes({ protocol: nodeRouteProtocol })).length,
      refused,
      repaired: this.#repaired,
    };
  }

  /** How many families had it off. */
  async #forward(served: ReadonlySet<Family>): Promise<number> {
    let switched = 0;
    for (const family of families) {
      if (!served.has(family)) continue;
      const setting = { kind: 'forwarding', family } as const;
      if ((await this.#kernel.readSetting(setting)) !== 1) {
        await this.#kernel.writeSetting(setting, 1);
        switched++;
        this.#log.info({ family }, `switched on forwarding of ${family} packets`);
      }
    }
    return switched;
  }

  /** How much of it was not as it should be. */
  async #keepTunnel(tunnel: DesiredTunnel | undefined): Promise<number> {
    const device = tunnel && deviceOf[tunnel.kind];
    for (const other of tunnelDevices) {
      if (other !== device && (await this.#kernel.link(other)))
        await this.#kernel.deleteLink(other);
    }
    if (tunnel === undefined || device === undefined) return 0;
    let changed = 0;
    const held = await this.#kernel.link(device);
    const { kind, local, mac, mtu } = tunnel;
    // Where it begins cannot be changed in place. Geneve has no beginning: each route says.
    const isPlaced =
      kind === 'geneve' ||
      (held?.tunnel?.vni === tunnelVni && held.tunnel.local?.equals(local) === true);
    const isRight = held !== undefined && isPlaced && held.mac === mac;
    if (held !== undefined && !isRight) await this.#kernel.deleteLink(device);
    if (!isRight) {
      const place = kind === 'geneve' ? {} : { vni: tunnelVni, local };
      await this.#kernel.createTunnel({ kind, name: device, ...place, mac, mtu });
    }
    if (!isRight || !held?.isUp || held.mtu !== mtu) {
      await this.#kernel.changeLink(device, { isUp: true, mtu });
      changed++;
    }
    changed += await this.#kernel.setAddresses(device, tunnel.addresses);
    if (kind === 'vxlan') {
      changed += await this.#kernel.setForwardingEntries(device, tunnel.forwardingEntries);
    }
    return changed + (await this.#kernel.setNeighbours(device, tunnel.neighbours));
  }

  /** Once for each set of refusals, not every time it is declared again. */
  #tellRefused(refused: ReadonlyArray<{ route: string; reason: string }>): void {
    const text = JSON.stringify(refused);
    if (text === this.#refused) return;
    this.#refused = text;
    for (const { route, reason } of refused) {
      this.#log.error(
        { reason: 'RouteRefused', prefix: route },
        `the kernel refused ${route}: ${reason}`,
      );
    }
  }
}

function tunnelText(tunnel: DesiredTunnel | undefined): string {
  if (tunnel === undefined) return '';
  const { kind, local, mac, mtu, addresses, neighbours, forwardingEntries } = tunnel;
  return JSON.stringify([
    [kind, `${local}`, mac, mtu],
    addresses.map(({ address }) => `${address}`),
    neighbours.map(({ address, mac: other }) => `${address} ${other}`),
    forwardingEntries.map(({ mac: other, remote }) => `${other} ${remote}`),
  ]);
}

/** `3 routes and the tunnel`. */
function wordsOf(changed: { routes: number; tunnel: number; forwarding: number }): string {
  const { routes, tunnel, forwarding } = changed;
  return [
    ...(routes > 0 ? [plural(routes, 'route')] : []),
    ...(tunnel > 0 ? ['the tunnel'] : []),
    ...(forwarding > 0 ? ['the forwarding switch'] : []),
  ].join(' and ');
}

function refusedText({ route, reason, detail }: RefusedRoute): { route: string; reason: string } {
  return { route: routeText(settleRoute(route)), reason: `${reason}: ${detail}` };
}
