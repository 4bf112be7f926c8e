/** Steps with our own agent on the nodes, beside Cilium's: it gives addresses, or only announces. */
import { ensureShim } from '../../scripts/shim.mjs';
import { nodeRouteProtocol, podRouteProtocol } from '../../src/kernel/route.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { podNetwork } from './config.ts';
import { nodeAsn, router } from './layout.ts';
import type { Stage, Step } from './stage.ts';

async function createPeer({ cluster }: Stage): Promise<void> {
  await cluster.world.must('POST', '/apis/cadastre.dev/v1alpha1/bgppeers', {
    apiVersion: 'cadastre.dev/v1alpha1',
    kind: 'BGPPeer',
    metadata: { name: 'router' },
    spec: {
      address: router.address,
      asn: router.asn,
      localASN: nodeAsn,
      connectRetrySeconds: 1,
    },
  });
}

/** Under cilium-cni our plugin gives the addresses, and our agent announces. */
export const delegatedNodes =
  (count: number): Step =>
  async (stage) => {
    const { cluster } = stage;
    cluster.pods.netConf = { ...cluster.pods.netConf, ipam: { type: 'cadastre' } };
    await cluster.startCiliumOperator();
    await stage.startCadastre(['--ipam=ip-pool']);
    await cluster.world.createPool('pods', { cidrs: [podNetwork], blockSize: { ipv4: 24 } });
    await createPeer(stage);
    await cluster.addNodes(count);
    for (const name of cluster.machines.keys()) await installPlugin(stage, name);
    await startOurAgents(stage, ['--wiring=false']);
    await stage.podOnEach();
    return `${count} nodes, a pod each, addresses by our plugin`;
  };

async function installPlugin({ cluster }: Stage, name: string): Promise<void> {
  const machine = cluster.machine(name);
  const plugin = ensureShim();
  if (plugin === undefined) throw new Error('no compiler for our CNI plugin');
  await machine.run([
    ...[process.execPath, await cadastreProgram(), 'cni', 'install', '--ipam-only'],
    ...['--plugin', plugin, '--bin-dir', machine.plugins, '--conf-dir', machine.plugins],
  ]);
}

async function startOurAgents(stage: Stage, flags: readonly string[]): Promise<void> {
  const machines = [...stage.cluster.machines.values()];
  for (const machine of machines) await machine.startOurAgent(flags);
  await eventually(async () => {
    const held = Object.keys(await stage.blocks());
    if (held.length < machines.length) throw new Error(`blocks are held by ${held.join(', ')}`);
  });
  await stage.whenAnnounced(90_000);
}

const allRoutes = ['ip', 'route', 'show', 'table', 'all', 'proto'];

/** Cilium has the data path and no BGP; the register's blocks are announced by our agents. */
export const announceOnly: Step = async (stage) => {
  const { cluster } = stage;
  await createPeer(stage);
  const took = await stage.timed(() => startOurAgents(stage, ['--announce-only']));
  stage.expected = {};
  await stage.pingSteadily(stage.steadyPods);
  for (const machine of cluster.machines.values()) {
    for (const protocol of [nodeRouteProtocol, podRouteProtocol]) {
      const ours = await machine.run([...allRoutes, String(protocol)]);
      stage.check(ours.trim() === '', `${machine.name} has routes of ours: ${ours}`);
    }
  }
  return `our agents announce every block after ${took}, and have no route in any kernel`;
};

export const restartOurAgents: Step = async (stage) => {
  const took = await stage.timed(async () => {
    // The report is of whole seconds.
    const sinceMs = Math.floor(Date.now() / 1000) * 1000;
    const machines = [...stage.cluster.machines.values()];
    await Promise.all(machines.map((machine) => machine.restartOurAgent()));
    await whenOursAnnounce(stage, sinceMs);
  });
  return `our agents restarted: all of them announce again after ${took}`;
};

interface Report {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly sessions?: ReadonlyArray<{
      readonly establishedAt?: string;
      readonly announced?: ReadonlyArray<{ readonly prefix: string }>;
    }>;
  };
}

/** Until every agent of ours says itself that it announces the node's block, in a new session. */
async function whenOursAnnounce(stage: Stage, sinceMs: number): Promise<void> {
  await eventually(
    async () => {
      const reports = await stage.cluster.world.list<Report>(
        '/apis/cadastre.dev/v1alpha1/nodereports',
      );
      for (const [node, cidrs] of Object.entries(await stage.blocks())) {
        const sessions = reports.find(({ metadata }) => metadata.name === node)?.status?.sessions;
        const told = (sessions ?? []).flatMap(({ establishedAt, announced }) =>
          Date.parse(establishedAt ?? '') >= sinceMs ? (announced ?? []) : [],
        );
        if (!cidrs.every((cidr) => told.some(({ prefix }) => prefix === cidr))) {
          throw new Error(`${node} says of its sessions: ${JSON.stringify(sessions)}`);
        }
      }
    },
    { withinMs: 90_000 },
  );
}

export const podComesAndGoes: Step = async ({ cluster }) => {
  await cluster.pods.start('more', 'n1');
  await cluster.pods.end('more');
  return 'a pod came and went';
};
