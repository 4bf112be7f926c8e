/**
 * The operator listens to real routers: FRR reports over BMP, BIRD over a plain iBGP session.
 * What a router loses becomes a condition and an Event without anybody running the doctor; a
 * router that is not heard, or not heard out, is never said to lack a route.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Speaker } from '../../src/bgp/speaker/speaker.ts';
import { nodeReports } from '../../src/model/resources.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import { Witness } from '../../src/witness/witness.ts';
import { type BenchOperator, eventually, OperatorBench } from '../operator/operator-bench.ts';

interface Reporter {
  readonly name: string;
  readonly by: 'bmp' | 'bgp';
  readonly binary: string;
  readonly address: string;
  readonly port: number;
  /** Writes the configuration; the command that runs the router in the foreground. */
  command(folder: string): readonly string[];
  /** What it says that it holds itself. */
  table(folder: string): string;
}

const witnessAddress = '127.78.0.9';
const witnessPort = 17929;
/** What FRR originates itself: it reports it as received from 0.0.0.0, which is never up. */
const ownNetwork = '198.51.100.0/24';
/** Each node's session comes from a loopback address of its own; its next hop is the Node's address. */
const nodes = {
  node1: { source: '127.78.0.11', address: '192.0.2.11' },
  node2: { source: '127.78.0.12', address: '192.0.2.12' },
} as const;
type NodeName = keyof typeof nodes;

const frr: Reporter = {
  name: 'FRR',
  by: 'bmp',
  binary: '/usr/lib/frr/bgpd',
  address: '127.78.0.2',
  port: 17922,
  command(folder) {
    const config = join(folder, 'bgpd.conf');
    const neighbors = Object.values(nodes).map(
      ({ source }) => ` neighbor ${source} remote-as 64513
 neighbor ${source} passive
 neighbor ${source} disable-connected-check`,
    );
    writeFileSync(
      config,
      `hostname tor-frr
router bgp 64524
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 no bgp network import-check
 network ${ownNetwork}
${neighbors.join('\n')}
 bmp targets station
  bmp stats interval 1000
  bmp monitor ipv4 unicast post-policy
  bmp connect ${witnessAddress} port ${witnessPort} min-retry 100 max-retry 500
`,
    );
    const id = (flag: string) => Number(execFileSync('id', [flag, 'frr'], { encoding: 'utf8' }));
    for (const path of [folder, config]) chownSync(path, id('-u'), id('-g'));
    chmodSync(folder, 0o755);
    return [
      ...[this.binary, '-M', 'bmp', '-n', '-Z', '-f', config, '-i', join(folder, 'pid')],
      ...['--vty_socket', folder, '-P', '0', '-l', this.address, '-p', String(this.port)],
    ];
  },
  table: (folder) =>
    output('vtysh', '--vty_socket', folder, '-d', 'bgpd', '-c', 'show bgp ipv4 unicast'),
};

const bird: Reporter = {
  name: 'BIRD',
  by: 'bgp',
  binary: '/usr/sbin/bird',
  address: '127.78.0.3',
  port: 17923,
  command(folder) {
    const config = join(folder, 'bird.conf');
    const sessions = Object.entries(nodes).map(
      ([name, { source }]) => `protocol bgp ${name} {
  local ${this.address} port ${this.port} as 64524;
  neighbor ${source} as 64513;
  multihop; passive on;
  ipv4 { import all; export none; };
}`,
    );
    writeFileSync(
      config,
      `log stderr all;
router id 10.0.0.3;
protocol device {}
# Where next hops lead; nothing goes to the kernel.
protocol static { ipv4; route 192.0.2.0/24 via "lo"; }
${sessions.join('\n')}
protocol bgp witness {
  local ${this.address} port ${this.port} as 64524;
  neighbor ${witnessAddress} port ${witnessPort} as 64524;
  multihop; rr client;
  connect delay time 1; connect retry time 1; error wait time 1, 2;
  ipv4 { import none; export where source = RTS_BGP; };
}
`,
    );
    return [
      ...[this.binary, '-f', '-c', config],
      ...['-s', join(folder, 'ctl'), '-P', join(folder, 'pid')],
    ];
  },
  table: (folder) => output('birdc', '-s', join(folder, 'ctl'), 'show', 'route'),
};

function output(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

let cleanUp: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const one of cleanUp.reverse()) await one();
  cleanUp = [];
});

function start(reporter: Reporter): { kill(): Promise<void>; table(): string } {
  const folder = mkdtempSync(join(tmpdir(), `cad-witness-${reporter.name}-`));
  const [command, ...args] = reporter.command(folder);
  const log = openSync(join(folder, 'log'), 'a');
  const child: ChildProcess = spawn(command!, args, { stdio: ['ignore', log, log] });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  cleanUp.push(async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  return { kill, table: () => reporter.table(folder) };
}

/** A node's speaker, which declares what the router shall have of it. */
function speakerOf(name: NodeName, { address, port }: Reporter): Speaker {
  const { source } = nodes[name];
  const speaker = new Speaker({ listen: false });
  cleanUp.push(() => speaker.close('restart'));
  const refused = speaker.setPeers([
    {
      ...{ name: 'router', address, port, asn: 64524, localAsn: 64513, routerId: source },
      ...{ localAddress: source, connectRetrySeconds: 1, families: ['ipv4'] },
    },
  ]);
  expect(refused).toEqual([]);
  return speaker;
}

describe.each([frr, bird])('$name, heard by the operator', (reporter) => {
  test.skipIf(!existsSync(reporter.binary))(
    `what it loses is reported; what it did not say is not (needs ${reporter.binary})`,
    { timeout: 120_000 },
    async () => {
      const bench = await OperatorBench.start();
      cleanUp.push(() => bench.end());
      await bench.createPool('p', { cidrs: ['10.5.0.0/24'], blockSize: { ipv4: 25 } });
      const witness = new Witness({ now: () => systemClock.monotonicMs() });
      cleanUp.push(() => witness.close());
      const operator: BenchOperator = await bench.leader({ intervals: { driftMs: 50 }, witness });
      for (const [name, { address }] of Object.entries(nodes)) {
        await bench.createNode(name, { addresses: [address] });
      }
      const blocks = new Map<NodeName, string>();
      await eventually(async () => {
        for (const name of ['node1', 'node2'] as const) {
          const [line = ''] = await bench.blocksOf(name);
          expect(line).toContain('Active');
          blocks.set(name, line.split(' ')[0]!);
        }
      });
      const speakers = new Map<NodeName, Speaker>();
      const announce = (name: NodeName, isOn: boolean) =>
        speakers
          .get(name)!
          .set(isOn ? [{ prefix: blocks.get(name)!, nextHop: nodes[name].address }] : []);
      for (const name of ['node1', 'node2'] as const) {
        await reportSession(bench, name, reporter, blocks.get(name)!);
        speakers.set(name, speakerOf(name, reporter));
        announce(name, true);
      }
      const router = start(reporter);
      await eventually(() => {
        const table = router.table();
        for (const cidr of blocks.values()) expect(table).toContain(cidr);
      });
      const asns = { localAsn: 64524, peerAsn: 64524 };
      await witness.listen([
        { protocol: reporter.by, host: witnessAddress, port: witnessPort, ...asns },
      ]);
      const isComplete = () => witness.routers[0]?.completeSinceMs.ipv4 !== undefined;
      await eventually(() => expect(isComplete()).toBe(true));
      await eventually(() =>
        expect(
          witness
            .seen()[0]!
            .table.routes.filter(({ nextHop }) => nextHop !== '')
            .map(({ prefix }) => `${prefix}`)
            .sort(),
        ).toEqual([...blocks.values()].sort()),
      );
      const [heard] = witness.routers;
      expect(heard?.addresses).toContain(reporter.address);
      const lastRoute = () => witness.routers[0]?.lastRouteMs(parsePrefix(blocks.get('node1')!)!);
      expect(lastRoute()).toBe(Number.POSITIVE_INFINITY);
      if (reporter.by === 'bmp') {
        expect(heard?.name).toBe('tor-frr');
        expect(heard?.lastSessionMs(nodes.node1.source)).toBe(Number.POSITIVE_INFINITY);
      }
      // Nobody was said to lack anything while the router was only on its way here.
      expect(operator.logged(({ reason }) => isMissing(reason))).toEqual([]);

      announce('node1', false);
      const message = await bench.whenReason('node1', 'Blackhole', 'CadastreDrift');
      expect(message).toContain(blocks.get('node1'));
      await eventually(async () => {
        const reasons = (await bench.events('node1')).map(({ reason }) => reason);
        expect(reasons).toEqual(expect.arrayContaining(['Blackhole', 'NotHeld']));
      });
      expect(lastRoute()).toBeLessThanOrEqual(systemClock.monotonicMs());
      expect((await bench.node('node2')).status?.conditions ?? []).toEqual([]);

      announce('node1', true);
      await bench.whenReason('node1', 'NoDrift', 'CadastreDrift');

      // It is gone, with everything it held: that is a router less, not a route less.
      const before = operator.logged(({ reason }) => isMissing(reason)).length;
      await router.kill();
      await eventually(() => expect(witness.routers).toEqual([]));
      expect(witness.seen()).toMatchObject([
        { table: { families: new Set(), routes: [] }, source: { state: 'partly' } },
      ]);
      for (const speaker of speakers.values()) speaker.set([]);
      await reportSession(bench, 'node2', reporter);
      // A pass was made after all that, over what the reports say alone.
      await bench.whenReason('node2', 'NotAnnounced', 'CadastreDrift');
      const after = operator.logged(({ reason }) => isMissing(reason));
      expect(after.slice(before)).toEqual([]);
    },
  );
});

test.skipIf(!existsSync(frr.binary))(
  `FRR that connects before any node does sends no End-of-RIB, and is known whole (needs ${frr.binary})`,
  { timeout: 120_000 },
  async () => {
    const witness = new Witness({ now: () => systemClock.monotonicMs() });
    cleanUp.push(() => witness.close());
    await witness.listen([{ protocol: 'bmp', host: witnessAddress, port: witnessPort }]);
    start(frr);
    const names = () => witness.seen().map(({ source }) => `${source.name} ${source.state}`);
    await eventually(() => expect(names()).toEqual(['tor-frr partly']));
    const [first, second] = [speakerOf('node1', frr), speakerOf('node2', frr)];
    first.set([{ prefix: '10.5.0.0/25', nextHop: nodes.node1.address }]);
    await eventually(() => expect(names()).toEqual(['tor-frr seen']));
    const sinceMs = witness.routers[0]?.completeSinceMs.ipv4;
    second.set([{ prefix: '10.5.0.128/25', nextHop: nodes.node2.address }]);
    await eventually(() => expect(witness.seen()[0]?.table.routes).toHaveLength(3));
    // A session of another node breaks nothing.
    expect(witness.routers[0]?.completeSinceMs).toEqual({ ipv4: sinceMs });
    await second.close('drain');
    const session = () => witness.routers[0]?.lastSessionMs(nodes.node2.source);
    await eventually(() => expect(session()).toBeLessThan(Number.POSITIVE_INFINITY));
    expect(witness.routers[0]?.completeSinceMs).toEqual({ ipv4: sinceMs });
  },
);

const isMissing = (reason: unknown) => reason === 'Blackhole' || reason === 'NotHeld';

/** What the node's agent says: its session with the router, and what it announces there. */
async function reportSession(
  bench: OperatorBench,
  node: NodeName,
  { address }: Reporter,
  ...announced: string[]
): Promise<void> {
  await bench.report(node, []);
  const session = { peer: 'tor', address, asn: 64524, state: 'Established' };
  const routes = announced.map((prefix) => ({ prefix, nextHop: nodes[node].address }));
  const body = { status: { sessions: [{ ...session, announced: routes }] } };
  await bench.client.patch(nodeReports, node, { type: 'merge', subresource: 'status', body });
}
