import { join } from 'node:path';
import type { RouterPlan, RouterSoftware } from './router.ts';

/** What iproute2 prints for the routes of our own stand-in; the number is nobody's. */
export const ownRouteProtocol = 85;

/** Our collector with kernel routes, where neither FRR nor BIRD is installed. */
export const own: RouterSoftware = {
  software: 'own',
  routeProtocol: String(ownRouteProtocol),
  program: process.execPath,
  files: (plan) => ({ 'router.json': `${JSON.stringify(standInConfig(plan), null, 2)}\n` }),
  processes: (folder, cadastre) => [
    {
      name: 'router',
      command: [...cadastre, 'lab', 'router', folder],
      readyPath: join(folder, 'ready'),
    },
  ],
  tableCommand: () => undefined,
  readPaths: () => [],
};

export interface StandInConfig {
  readonly address: string;
  readonly asn: number;
  readonly neighbours: RouterPlan['neighbours'];
  readonly families: RouterPlan['families'];
  readonly subnets: readonly string[];
}

function standInConfig({ router, asn, neighbours, families, subnets }: RouterPlan): StandInConfig {
  return { address: router.address, asn, neighbours, families, subnets: subnets.ipv4 };
}
