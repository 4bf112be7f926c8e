/** A pair of worlds for a reason of the doctor, and what several of them are made of. */

import { stateOfObjects } from '../../../src/model/cluster-state.ts';
import type { Evidence } from '../../../src/plan/doctor/evidence.ts';
import type { DoctorFinding } from '../../../src/plan/doctor/finding.ts';
import {
  advertisement,
  clusterConfig,
  forTor,
  nodeConfig,
  peerConfig,
  tor,
} from '../cilium-bgp-objects.ts';
import { bothRoutes, cilium, cleanWorlds, router } from '../worlds.ts';

export const ofCilium = cleanWorlds['cluster-pool of Cilium'];

export const ofNodes = cleanWorlds['kubernetes of Cilium'];

export const ofCadastre = cleanWorlds['ip-pool of Cadastre'];

/** The world with another one of its parts. */
export const withTor1 = (
  evidence: Evidence,
  ...routes: Evidence['routers'][number]['routes'][number][]
) => ({
  ...evidence,
  routers: [router('tor1', routes)],
});

export interface Pair {
  /** A world in which it is found, */
  triggers: Evidence;
  /** and one just beside it, in which it is not. */
  beside: Evidence;
  finding: Partial<DoctorFinding>;
}

export const [toA, toB] = bothRoutes as [(typeof bothRoutes)[0], (typeof bothRoutes)[0]];

/** Our agents speak, and Cilium's BGP objects are about a. */
export const spokenTwice = (part: object, address = '10.0.0.250'): Evidence => ({
  ...ofCadastre(),
  cilium: cilium({ ipam: 'cluster-pool', 'enable-bgp-control-plane': 'true' }, 17),
  ciliumBgp: stateOfObjects([
    clusterConfig('all', [tor('tor1', address)], { matchLabels: { name: 'a' } }),
    peerConfig('to-tor', forTor),
    advertisement('all', part),
    nodeConfig('a', [tor('tor1', address)], { tor1: 'active' }),
  ]).ciliumBgp,
});
