/** What the node's kernel and routers should have, derived from what is known. */
import { derivedMac } from '../kernel/link.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import {
  type DesiredAnnouncement,
  desiredAnnouncements,
} from '../plan/node/desired-announcements.ts';
import { type DesiredMasquerade, desiredMasquerade } from '../plan/node/desired-masquerade.ts';
import { type DesiredRoutes, desiredRoutes, type Uplink } from '../plan/node/desired-routes.ts';
import { serviceAnnouncements } from '../plan/services/service-announcements.ts';
import type { AgentSettings } from './agent-settings.ts';
import type { Knowledge } from './knowledge.ts';
import { tunnelDeviceOf } from './route-reconciler.ts';

export class DesiredNodeState {
  readonly #settings: AgentSettings;
  /** What was worked out last, and from what: the same knowledge is the very same object. */
  #last: { knowledge: Knowledge; uplinksText: string; routes: DesiredRoutes } | undefined;

  constructor(settings: AgentSettings) {
    this.#settings = settings;
  }

  /** Most rounds are about a pod that came or went: then no other node has to be looked at. */
  routes(knowledge: Knowledge, uplinks: readonly Uplink[]): DesiredRoutes {
    const { routing, directRoutes } = this.#settings;
    const links = uplinks.map(({ name, mtu, addresses }) => [
      `${name} ${mtu}`,
      ...addresses.map(({ address, length }) => `${address}/${length}`),
    ]);
    const uplinksText = links.join();
    const last = this.#last;
    if (last?.knowledge === knowledge && last.uplinksText === uplinksText) return last.routes;
    const routes = desiredRoutes({
      self: selfOf(knowledge),
      others: knowledge.others,
      uplinks,
      routing,
      directRoutes,
      tunnelDevice: tunnelDeviceOf(routing),
      tunnelMacOf: (name) => derivedMac(`cadastre tunnel of ${name}`),
    });
    this.#last = { knowledge, uplinksText, routes };
    return routes;
  }

  /** Of blocks only those that are announced: some may be on hold (plan/node/block-use). */
  announcements(
    knowledge: Knowledge,
    isLeaving: boolean,
    isAnnounced: (prefix: Prefix) => boolean,
  ): {
    blocks: DesiredAnnouncement[];
    services: DesiredAnnouncement[];
    findings: Finding[];
  } {
    const { others, advertisements, services: facts } = knowledge;
    const input = { self: selfOf(knowledge), others, advertisements, isLeaving };
    const used = input.self.blocks.filter(({ prefix }) => isAnnounced(prefix));
    const blocks = desiredAnnouncements({ ...input, self: { ...input.self, blocks: used } });
    const services = serviceAnnouncements({ ...input, facts });
    return {
      blocks: blocks.announcements,
      services: services.announcements,
      findings: [...blocks.findings, ...services.findings],
    };
  }

  /** Undefined: none is wanted. */
  masquerade(knowledge: Knowledge): DesiredMasquerade | undefined {
    const { masqueradeExceptions: exceptions } = this.#settings;
    const { others } = knowledge;
    return exceptions && desiredMasquerade({ self: selfOf(knowledge), others, exceptions });
  }
}

function selfOf({ node, truth }: Knowledge) {
  return { ...node, blocks: truth.blocks };
}
