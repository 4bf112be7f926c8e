/**
 * What makes each alert fire, and what ends it. Everything is done to the running site from outside, as it
 * would happen: processes are killed or stopped, routers go, disks fill up, the API server stands still.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../src/model/object.ts';
import { sendJson } from '../../parts/test-api.ts';
import { wholeTable } from './bmp-router.ts';
import { Router, type Site } from './site.ts';

export interface Story {
  name: string;
  /** Names of alerts, each with labels that tell it from others of that name. */
  alerts: ReadonlyArray<[name: string, labels?: Record<string, string>]>;
  /** May go on until the alerts fire: it is called again and again then. */
  begin(site: Site): Promise<void> | void;
  /** Called again and again between `begin` and the last alert. */
  goOn?(site: Site): Promise<void>;
  end(site: Site): Promise<void> | void;
}

export const pause = (ms: number) => new Promise<void>((wake) => setTimeout(wake, ms));

export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 300_000;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`never happened: ${what}`);
    await pause(250);
  }
}

let router: Socket | undefined;

async function connectWitness(site: Site): Promise<void> {
  router = connect(site.witnessPort, '127.0.0.1');
  router.on('error', () => undefined);
  router.write(wholeTable('tor1'));
  await until("the operator has the router's whole table", async () =>
    /^cadastre_witness_complete\{[^}]*\} 1$/m.test(await site.metrics(site.program('operator'))),
  );
}

const services = '/api/v1/namespaces/default/services';
const loadBalancer = {
  spec: { type: 'LoadBalancer', ports: [{ port: 80, protocol: 'TCP' }] },
} as KubeObject;

const policy = () =>
  parseAllDocuments(readFileSync('deploy/agent.yaml', 'utf8'))
    .map((one) => one.toJS() as KubeObject)
    .filter(({ kind }) => kind?.startsWith('ValidatingAdmissionPolicy'));
const policyPath = ({ kind, metadata }: KubeObject) =>
  `/apis/admissionregistration.k8s.io/v1/${kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings'}/${metadata?.name}`;

const stranger = new Router('tor3', '127.78.0.3', ['n2'], ['ipv6']);

/** Calls that come all the time, on an agent that gets no CPU for longer and longer. */
async function starve(site: Site): Promise<void> {
  const { part } = site.program('agent', 'n2');
  const calls = Array.from({ length: 8 }, async (_, at) => {
    await site.cni('n2', 'ADD', `busy-${at}`).catch(() => 1);
    await site.cni('n2', 'DEL', `busy-${at}`).catch(() => 1);
  });
  await pause(2);
  process.kill(part!.pid, 'SIGSTOP');
  await pause(1_600);
  process.kill(part!.pid, 'SIGCONT');
  await Promise.all(calls);
}

/** The program as it is, under another version. */
function otherVersion(site: Site): string {
  const root = join(site.dir, 'other-version');
  mkdirSync(root, { recursive: true });
  cpSync(resolve('dist'), join(root, 'dist'), { recursive: true });
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  const about = JSON.parse(readFileSync('package.json', 'utf8'));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...about, version: '0.0.1' }));
  return root;
}

export const stories: readonly Story[] = [
  {
    name: 'agents are not bound to their nodes, until the admission policy is installed',
    alerts: [['CadastreReportsNotAttributed']],
    begin: () => undefined,
    end: (site) => {
      for (const object of policy()) site.api.put(policyPath(object), object);
    },
  },
  {
    name: 'a pool fills up within days, until it gets another CIDR',
    alerts: [['CadastrePoolFullSoon', { pool: 'q' }]],
    begin: () => undefined,
    end: (site) => site.putPool('q', ['10.201.0.0/26', '10.201.1.0/24']),
  },
  {
    name: 'two more nodes than the pool has blocks, until it gets another CIDR',
    alerts: [
      ['CadastrePoolNearlyFull', { pool: 'p' }],
      ['CadastreNodesWithoutBlock'],
      ['CadastreRecordsDisagree', { reason: 'PoolNearlyFull' }],
    ],
    begin: (site) => {
      site.addNode('n4', 'p');
      site.addNode('n5', 'p');
    },
    end: (site) => site.putPool('p', ['10.200.0.0/26', '10.200.1.0/24']),
  },
  {
    name: 'a machine is taken away, until somebody says that it is off',
    alerts: [['CadastreBlocksAwaitingRelease']],
    begin: async (site) => {
      await until('n5 has a block', () => site.blockOf('n5') !== undefined);
      goneBlock = site.blockOf('n5') ?? '';
      site.removeNode('n5');
    },
    end: async (site) => {
      const words = ['blocks', 'release', goneBlock, '--machine-is-off', 'sold'];
      // Not by a call that waits: the API server is in this process.
      await promisify(execFile)(process.execPath, [
        ...['dist/cadastre.mjs', ...words, '--kubeconfig', site.api.kubeconfig],
      ]);
    },
  },
  {
    name: 'both routers go down, and come back',
    alerts: [
      ['CadastreBgpSessionDown', { node: 'n1' }],
      ['CadastreBgpNoSession', { node: 'n1' }],
      ['CadastreRecordsDisagree', { reason: 'NotAnnounced' }],
    ],
    begin: async (site) => {
      for (const one of site.routers) await one.stop();
    },
    end: async (site) => {
      for (const one of site.routers) await one.start();
    },
  },
  {
    name: 'a router comes and goes',
    alerts: [['CadastreBgpSessionFlaps']],
    begin: () => undefined,
    goOn: async (site) => {
      const [tor1] = site.routers;
      await tor1!.stop('restart');
      await tor1!.start();
      const established = /^cadastre_bgp_session_state\{peer="tor1-n1",state="Established"\} 1$/m;
      await until('the session is there again', async () =>
        established.test(await site.metrics(site.program('agent', 'n1'))),
      );
    },
    end: () => undefined,
  },
  {
    name: "a router advertises a node's block with another next hop",
    alerts: [['CadastreBlockRoutedElsewhere', { node: 'n1' }]],
    begin: (site) =>
      site.routers[1]!.announce([{ prefix: site.blockOf('n1')!, nextHop: '10.4.94.99' }]),
    end: (site) => site.routers[1]!.announce([]),
  },
  {
    name: 'a router that does not carry the family of the block',
    alerts: [['CadastreBlockNotAnnounced', { node: 'n2', reason: 'FamilyNotNegotiated' }]],
    begin: async (site) => {
      await stranger.start();
      site.addPeer(stranger, 'n2');
    },
    end: async (site) => {
      site.removePeer(stranger, 'n2');
      await stranger.stop();
    },
  },
  {
    name: 'a node gets more pods than its block has addresses, and some of them end',
    alerts: [
      ['CadastreNodeFull', { node: 'n1' }],
      ['CadastreCniFails', { node: 'n1', outcome: 'NoFreeAddress' }],
    ],
    begin: async (site) => {
      for (let pod = 0; pod < 13; pod++) await site.cni('n1', 'ADD', `pod-${pod}`);
    },
    goOn: async (site) => {
      for (let pod = 0; pod < 3; pod++) await site.cni('n1', 'ADD', `too-many-${pod}`);
    },
    end: async (site) => {
      for (let pod = 0; pod < 13; pod++) await site.cni('n1', 'DEL', `pod-${pod}`);
    },
  },
  {
    name: "the disk of a node's state is full for a while",
    alerts: [['CadastreJournalWriteFails', { node: 'n3' }]],
    begin: (site) => {
      const filler = join(site.stateOf('n3'), 'filler');
      // As much as there is room for.
      try {
        for (let size = 0; size < 64; size++) {
          writeFileSync(filler, Buffer.alloc(256 * 1024), { flag: 'a' });
        }
      } catch {
        // Full.
      }
    },
    // The journal has room in advance, half a megabyte: so many pods fill that, too.
    goOn: async (site) => {
      const pods = Array.from({ length: 200 }, (_, at) => `${at}-${'f'.repeat(200)}`);
      await Promise.all(pods.map((pod) => site.cni('n3', 'ADD', pod)));
      await Promise.all(pods.map((pod) => site.cni('n3', 'DEL', pod)));
    },
    end: (site) => rmSync(join(site.stateOf('n3'), 'filler')),
  },
  {
    name: 'an agent gets no CPU for a second and a half, again and again',
    alerts: [
      ['CadastreEventLoopLag', { node: 'n2' }],
      ['CadastreCniSlow', { node: 'n2' }],
    ],
    begin: () => undefined,
    goOn: starve,
    end: () => undefined,
  },
  {
    name: 'an agent is killed, and started again',
    alerts: [['CadastreTargetDown', { node: 'n3' }]],
    begin: (site) => site.program('agent', 'n3').part!.kill9(),
    end: (site) => site.run(site.program('agent', 'n3')),
  },
  {
    name: 'an agent restarts again and again',
    alerts: [['CadastreRestarts', { node: 'n3' }]],
    begin: () => undefined,
    goOn: async (site) => {
      const program = site.program('agent', 'n3');
      await site.again(program);
      await until('it answers', () =>
        site.metrics(program).then(
          () => true,
          () => false,
        ),
      );
      // Until it was scraped.
      await pause(1_200);
    },
    end: () => undefined,
  },
  {
    name: 'one agent is of another version, until it is upgraded',
    alerts: [['CadastreVersionsDiffer']],
    begin: (site) => site.again(site.program('agent', 'n3'), otherVersion(site)),
    end: (site) => site.again(site.program('agent', 'n3')),
  },
  {
    name: 'the journal of addresses loses its end; the node is drained and what is left of it removed',
    alerts: [['CadastreAddressOwnersUnknown', { node: 'n3' }]],
    begin: async (site) => {
      const program = site.program('agent', 'n3');
      await serves(site, 'n3');
      await site.cni('n3', 'ADD', 'kept');
      await program.part!.stop();
      truncateSync(join(site.stateOf('n3'), 'addresses.journal'), 100);
      site.run(program);
    },
    end: async (site) => {
      const folder = site.stateOf('n3');
      const copies = readdirSync(folder).filter((name) => name.includes('.damaged-'));
      for (const copy of copies) rmSync(join(folder, copy));
      await site.again(site.program('agent', 'n3'));
    },
  },
  {
    name: 'an agent starts on a machine whose Node comes later',
    alerts: [['CadastreAgentNotReady', { node: 'n9' }]],
    begin: (site) => site.run(site.program('agent', 'n9')),
    end: (site) => site.addNode('n9', 'p'),
  },
  {
    name: 'two Services want the only address, until one goes',
    alerts: [['CadastreServicesWithoutAddress']],
    begin: (site) => {
      site.api.put('/apis/cadastre.dev/v1alpha1/loadbalancerpools/one', {
        spec: { addresses: ['10.6.0.1/32'] },
      } as KubeObject);
      for (const name of ['first', 'second']) site.api.put(`${services}/${name}`, loadBalancer);
    },
    end: (site) => site.api.delete(`${services}/second`),
  },
  {
    name: 'a router ends its BMP session, and comes back',
    alerts: [['CadastreWitnessIncomplete', { router: 'tor1' }]],
    begin: () => {
      router?.destroy();
    },
    end: connectWitness,
  },
  {
    name: 'the API server fails every write of the operator for a while',
    alerts: [['CadastreWorkFails', { queue: 'nodes' }]],
    begin: (site) => {
      site.api.intercept = ({ method, path }, response) => {
        if (method === 'GET' || !/\/(nodeblocks|nodes)\b/.test(path)) return false;
        sendJson(response, 500, { kind: 'Status', code: 500, message: 'no quorum' });
        return true;
      };
      for (const name of ['n6', 'n7', 'n8']) site.addNode(name, 'p');
    },
    end: (site) => {
      site.api.intercept = undefined;
    },
  },
  {
    name: 'the only operator is gone, and comes back',
    alerts: [['CadastreNoLeader']],
    begin: (site) => site.program('operator').part!.stop(),
    end: async (site) => {
      site.run(site.program('operator'));
      router?.destroy();
      await until('the operator listens', () =>
        site.metrics(site.program('operator')).then(
          () => true,
          () => false,
        ),
      );
      await connectWitness(site);
    },
  },
  {
    name: 'the API server stands still for more than a minute',
    alerts: [['CadastreApiServerSilent']],
    begin: (site) => site.api.proxy.freeze(),
    end: (site) => site.api.proxy.thaw(),
  },
];

let goneBlock = '';

async function serves(site: Site, node: string): Promise<void> {
  await until(`the agent of ${node} serves`, async () => {
    const text = await site.metrics(site.program('agent', node)).catch(() => '');
    return /^cadastre_agent_ready 1$/m.test(text);
  });
}

/** The site as it is before the first story. */
export async function setTheScene(site: Site): Promise<void> {
  site.putPool('p', ['10.200.0.0/26']);
  site.putPool('q', ['10.201.0.0/26']);
  site.putPool('r', ['10.202.0.0/22'], 24);
  // One on the pool's first day, two since: at that pace the last block is gone in nine days.
  site.addNode('n21', 'q', 20);
  site.addNode('n22', 'q', 5);
  site.addNode('n23', 'q', 4);
  for (const name of ['n1', 'n2', 'n10']) site.addNode(name, 'p');
  site.addNode('n3', 'r');
  await site.addOperator();
  await site.addConsole();
  for (const name of site.agents) await site.addAgent(name);
  await site.program('agent', 'n9').part?.kill9();
  for (const node of ['n1', 'n2', 'n3']) await serves(site, node);
  await connectWitness(site);
}
