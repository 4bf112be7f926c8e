/** The router of a cluster of kubelets: FRR, to which any node may open a session. */
import { holdSeconds } from '../routers/router.ts';
import { nodeNetwork, router } from './layout.ts';

export function routerConfig(): Record<string, string> {
  const lines = [
    'log stdout informational',
    'hostname router',
    'route-map NOTHING deny 10',
    'exit',
    `router bgp ${router.asn}`,
    ` bgp router-id ${router.ipv4}`,
    ' no bgp ebgp-requires-policy',
    ' no bgp network import-check',
    ' no bgp default ipv4-unicast',
    ' neighbor NODES peer-group',
    // Whatever AS the nodes have.
    ' neighbor NODES remote-as external',
    ` neighbor NODES timers ${Math.floor(holdSeconds / 3)} ${holdSeconds}`,
    ' neighbor NODES advertisement-interval 0',
    ` bgp listen range ${nodeNetwork.ipv4} peer-group NODES`,
    ` bgp listen range ${nodeNetwork.ipv6} peer-group NODES`,
    ...['ipv4', 'ipv6'].flatMap((family) => [
      ` address-family ${family} unicast`,
      '  maximum-paths 16',
      '  neighbor NODES activate',
      '  neighbor NODES route-map NOTHING out',
      ' exit-address-family',
    ]),
  ];
  return { 'zebra.conf': 'log stdout\n', 'bgpd.conf': `${lines.join('\n')}\n` };
}

export interface RouterSession {
  readonly peer: string;
  readonly asn: number;
  readonly state: string;
  /** Received, of both families. */
  readonly prefixes: number;
}

export const sessionsCommand = (folder: string): string[] => [
  ...['vtysh', '--vty_socket', folder, '-c', 'show bgp summary json'],
];

/** A session that carries both families is told twice. */
export function readSessions(text: string): RouterSession[] {
  const summary = JSON.parse(text) as Record<string, { peers?: Record<string, FrrPeer> }>;
  const sessions = new Map<string, RouterSession>();
  for (const { peers = {} } of Object.values(summary)) {
    for (const [peer, { remoteAs: asn, state, pfxRcd = 0 }] of Object.entries(peers)) {
      const prefixes = (sessions.get(peer)?.prefixes ?? 0) + pfxRcd;
      sessions.set(peer, { peer, asn, state, prefixes });
    }
  }
  return [...sessions.values()];
}

interface FrrPeer {
  readonly remoteAs: number;
  readonly state: string;
  readonly pfxRcd?: number;
}
