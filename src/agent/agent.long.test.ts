import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentBench } from '../../test/parts/agent-bench.ts';
import { until } from '../../test/parts/test-api.ts';
import { nodeRouteProtocol } from '../kernel/route.ts';
import { parseAddress } from '../net/address.ts';
import { parsePrefix } from '../net/prefix.ts';
import { tunnelDeviceOf } from './route-reconciler.ts';

const tunnelDevice = tunnelDeviceOf('vxlan');
let bench: AgentBench;
let uid: string;

beforeEach(async () => {
  bench = await AgentBench.make();
  uid = bench.putNode('n1', '10.4.94.32');
});
afterEach(() => bench.end());

const ready = () => until('it is ready', () => bench.agent.status.state.isReady);
const give = (owner: string) => bench.book.allocate({ owner, families: ['ipv4'] });

describe('what it brings in line', () => {
  test('addresses, routes, announcements and the report follow from the blocks', async () => {
    const other = bench.putNode('n2', '10.4.94.21');
    bench.putBlock('10.5.115.0/24', 'n2', other);
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    bench.putBlock('10.5.116.0/24', 'n1', 'an earlier n1');
    await bench.start();
    await ready();
    expect(bench.routes()).toEqual(['10.5.115.0/24 via 10.4.94.21', 'unreachable 10.5.113.0/24']);
    expect(bench.prefixes()).toEqual(['10.5.113.0/24']);
    expect(await give('pod')).toMatchObject({ kind: 'allocated' });
    await until('the pod is in the report', () =>
      (JSON.stringify(bench.reports.at(-1)) ?? '').includes('"pods":1'),
    );
    expect(bench.report()).toMatchObject({ nodeUID: uid, releases: [] });
  });

  test('a node that moves, comes or goes changes the direct routes', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start();
    await ready();
    const other = bench.putNode('n2', '10.4.94.21');
    bench.putBlock('10.5.115.0/24', 'n2', other);
    await until('a route', () => bench.routes().includes('10.5.115.0/24 via 10.4.94.21'));
    bench.putNode('n2', '10.4.94.22');
    await until('another', () => bench.routes().includes('10.5.115.0/24 via 10.4.94.22'));
    bench.putNode('n2', '10.4.83.22');
    await until('none', () => bench.routes().length === 1);
  });

  test('a Node that is only touched costs nothing', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    bench.putNode('n2', '10.4.94.21');
    await bench.start();
    await ready();
    const received = () => {
      const line =
        /cadastre_kube_watch_events_total\{.*resource="nodes".*type="MODIFIED".*\} (\d+)/;
      return Number(line.exec(bench.metrics.text())?.[1] ?? 0);
    };
    let touches = 0;
    const touch = async () => {
      bench.steps.length = 0;
      const before = received();
      const addresses = [{ type: 'InternalIP', address: '10.4.94.21' }];
      const lastHeartbeatTime = new Date(1_000 * touches++).toISOString();
      const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime }];
      bench.putNode('n2', '10.4.94.21', { status: { addresses, conditions } });
      await until('the agent has it', () => received() > before);
      // Longer than the loop waits for more to come.
      await new Promise((resolve) => setTimeout(resolve, 200));
      return bench.steps.join();
    };
    // Again if a round came between that has another cause, as there are after the start.
    await expect.poll(touch).toBe('');
    bench.putNode('n2', '10.4.94.22');
    await until('a real change', () => bench.steps.length > 0);
  });

  test('a block comes: the kernel first. A block goes: the routers first', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start({ pace: { missingGraceMs: 0 } });
    await ready();
    bench.steps.length = 0;
    bench.putBlock('10.5.114.0/24', 'n1', uid);
    await until('it is announced', () => bench.prefixes().includes('10.5.114.0/24'));
    expect(bench.steps.findIndex((step) => /^kernel.*114/.test(step))).toBeLessThan(
      bench.steps.findIndex((step) => /^routers.*114/.test(step)),
    );
    bench.deleteBlock('10.5.114.0/24');
    await until('it is withdrawn', () => !bench.prefixes().includes('10.5.114.0/24'));
    expect(bench.routes()).toContain('unreachable 10.5.114.0/24');
    await until('the route goes too', () => !bench.routes().join().includes('10.5.114.0/24'));
  });

  test('in mode kubernetes Node.spec.podCIDRs is the truth', async () => {
    bench.putNode('n1', '10.4.94.32', { spec: { podCIDRs: ['10.7.0.0/24'] } });
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start({ rules: { source: 'node', families: 'auto' } });
    await ready();
    expect(bench.prefixes()).toEqual(['10.7.0.0/24']);
    expect(bench.routes()).toEqual(['unreachable 10.7.0.0/24']);
  });

  test('masquerade follows the blocks and nodes, is put back, and goes when it is not wanted', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start({ masqueradeExceptions: [parsePrefix('192.0.2.0/24')!] });
    await ready();
    const held = async () => {
      const rules = await bench.kernel.masquerade();
      return typeof rules === 'object' ? `${rules.sources} but ${rules.exceptions}` : rules;
    };
    const own = '169.254.0.0/16,192.0.2.0/24,224.0.0.0/4';
    expect(await held()).toBe(`10.5.113.0/24 but 10.4.94.32/32,10.5.113.0/24,${own}`);
    const other = bench.putNode('n2', '10.4.83.21');
    bench.putBlock('10.5.115.0/24', 'n2', other);
    const all = `10.4.83.21/32,10.4.94.32/32,10.5.113.0/24,10.5.115.0/24,${own}`;
    await expect.poll(held).toBe(`10.5.113.0/24 but ${all}`);
    await bench.stop();
    await bench.start();
    await ready();
    expect(await held()).toBeUndefined();
  });

  test('the tunnel is made, and goes when the routing is native again', async () => {
    const other = bench.putNode('n2', '10.4.83.21');
    bench.putBlock('10.5.115.0/24', 'n2', other);
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start({ routing: 'vxlan' });
    await ready();
    expect(bench.routes()).toContain('10.5.115.0/24 via 10.5.115.1');
    expect(await bench.kernel.link(tunnelDevice)).toMatchObject({ mtu: 1450, isUp: true });
    const entries = await bench.kernel.forwardingEntries(tunnelDevice);
    expect(entries.map(({ remote }) => `${remote}`)).toEqual(['10.4.83.21']);
    expect(bench.agent.status.podMtu).toBe(1450);
    await bench.stop();
    await bench.start({ routing: 'geneve' });
    await ready();
    expect(await bench.kernel.link(tunnelDevice)).toBeUndefined();
    expect(await bench.kernel.link(tunnelDeviceOf('geneve'))).toMatchObject({ isUp: true });
    expect(bench.routes()).toContain('10.5.115.0/24 via 10.5.115.1');
    await bench.stop();
    await bench.start();
    await ready();
    expect(await bench.kernel.link(tunnelDeviceOf('geneve'))).toBeUndefined();
    expect(bench.agent.status.podMtu).toBe(1500);
  });
});

describe('why it is not ready', () => {
  const said = (word: string) =>
    until(word, () => bench.conditions.at(-1) === `CadastreAgentReady ${word}`);

  test('stands on the Node, and goes when it is', async () => {
    await bench.start();
    await said('False WaitingForBlocks');
    expect(bench.agent.status.state).toMatchObject({
      isReady: false,
      reason: 'WaitingForBlocks',
      detail: expect.stringContaining('no NodeBlock gives n1'),
    });
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await ready();
    await said('True AgentReady');
  });

  test("the operator's own reason is the agent's, too", async () => {
    const type = 'CadastreBlocksAssigned';
    const message = 'pool rack83 is full';
    const conditions = [{ type, status: 'False', reason: 'PoolExhausted', message }];
    const addresses = [{ type: 'InternalIP', address: '10.4.94.32' }];
    bench.putNode('n1', '10.4.94.32', { status: { addresses, conditions } });
    await bench.start();
    await said('False PoolExhausted');
    expect(bench.agent.status.state.detail).toContain(message);
  });

  test('a node that is never kept waiting costs no write', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start();
    await ready();
    await until('it is reported', () => bench.reports.length > 0);
    expect(bench.conditions).toEqual([]);
  });

  test('a block that another node has got while pods use it: they keep their addresses, and are named', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start();
    await ready();
    await give('shop/web');
    bench.deleteBlock('10.5.113.0/24');
    bench.putBlock('10.5.113.0/24', 'n2', bench.putNode('n2', '10.4.94.21'));
    await until('it is said', () => bench.agent.status.limitation !== undefined);
    expect(bench.agent.status.limitation).toContain('10.5.113.2 of shop/web');
    await said('False WaitingForBlocks');
    expect(bench.prefixes()).toEqual([]);
    expect(bench.book.find('shop/web')).toBeDefined();
    expect(await give('another')).toMatchObject({ kind: 'refused' });
    bench.deleteBlock('10.5.113.0/24');
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await until('it is well again', () => bench.agent.status.limitation === undefined);
  });
});

describe('what it lives with', () => {
  test("other programs' changes to our routes are put back and counted; theirs are left alone", async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start();
    await ready();
    const own = [...bench.namespace.routes.values()][0]!;
    const theirs = { ...own, prefix: parsePrefix('192.0.2.0/24')!, protocol: 4 };
    bench.namespace.putRoute(theirs);
    bench.namespace.dropRoute(own);
    await until('it is back', () => bench.routes().includes('unreachable 10.5.113.0/24'));
    bench.namespace.putRoute({
      ...own,
      prefix: parsePrefix('192.0.3.0/24')!,
      protocol: nodeRouteProtocol,
    });
    await until('the false one is gone', () => !bench.routes().join().includes('192.0.3.0'));
    expect(bench.routes()).toContain('unreachable 192.0.2.0/24');
    await until('it is reported', () =>
      (JSON.stringify(bench.reports.at(-1)) ?? '').includes('"repaired":2'),
    );
    expect(bench.metrics.text()).toContain('cadastre_agent_routes_repaired_total 2');
  });

  test("other programs' changes to the tunnel and to forwarding are put back and counted, too", async () => {
    const other = bench.putNode('n2', '10.4.83.21');
    bench.putBlock('10.5.115.0/24', 'n2', other);
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start({ routing: 'vxlan', pace: { lookAgainTicks: 1 } });
    await ready();
    const repaired = (count: number) =>
      until(`${count} are put back`, () =>
        bench.metrics.text().includes(`cadastre_agent_routes_repaired_total ${count}`),
      );
    const entries = await bench.kernel.forwardingEntries(tunnelDevice);
    expect(entries).toHaveLength(1);
    await bench.kernel.setForwardingEntries(tunnelDevice, []);
    await repaired(1);
    expect(await bench.kernel.forwardingEntries(tunnelDevice)).toEqual(entries);
    await bench.kernel.setNeighbours(tunnelDevice, []);
    await repaired(2);
    const forwarding = { kind: 'forwarding', family: 'ipv4' } as const;
    await bench.kernel.writeSetting(forwarding, 0);
    await repaired(3);
    expect(await bench.kernel.readSetting(forwarding)).toBe(1);
  });

  test('without the API server at its start it goes on with what it last knew', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start();
    await ready();
    await bench.stop();
    bench.api.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    await bench.start();
    await ready();
    expect(bench.agent.status.state.reason).toBe('WorkingFromMemory');
    expect(await give('pod')).toMatchObject({ kind: 'allocated' });
    expect(bench.prefixes()).toEqual(['10.5.113.0/24']);
  });

  test('what the kernel refuses is tried again, and nothing is announced before it took it', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start();
    await ready();
    bench.kernel.failures = 2;
    bench.putBlock('10.5.114.0/24', 'n1', uid);
    await until('it was refused', () => bench.kernel.failures < 2);
    expect(bench.prefixes()).toEqual(['10.5.113.0/24']);
    await until('it is announced', () => bench.prefixes().length === 2);
    expect(bench.routes()).toContain('unreachable 10.5.114.0/24');
    expect(bench.kernel.failures).toBeLessThanOrEqual(0);
  }, 30_000);

  test('addresses of Services follow policy and endpoints, and without the API server the disk', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    const service = (policy: string, ...ips: string[]) =>
      bench.api.put('/api/v1/namespaces/shop/services/web', {
        spec: { type: 'LoadBalancer', ports: [{ port: 80 }], externalTrafficPolicy: policy },
        status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
      }).metadata;
    const endpoints = (nodeName: string, ready: boolean) =>
      bench.api.put('/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1', {
        metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: [{ nodeName, addresses: ['10.5.113.9'], conditions: { ready } }],
      });
    bench.api.put('/api/v1/namespaces/shop');
    const { uid: serviceUid } = service('Cluster', '10.6.0.1', '10.6.0.2');
    const address = '/apis/cadastre.dev/v1alpha1/serviceaddresses/10-6-0-1-32';
    bench.api.put(address, {
      spec: {
        address: '10.6.0.1',
        pool: 'lb',
        service: { namespace: 'shop', name: 'web', uid: serviceUid },
      },
    });
    await bench.start();
    await ready();
    const isTold = (yes: boolean) => () => bench.prefixes().includes('10.6.0.1/32') === yes;
    await until('it is announced', isTold(true));
    expect(bench.prefixes()).toEqual(['10.5.113.0/24', '10.6.0.1/32']);
    service('Local', '10.6.0.1');
    await until('no endpoint here', isTold(false));
    endpoints('n1', true);
    await until('one here', isTold(true));
    endpoints('n1', false);
    await until('it is not ready any more', isTold(false));
    endpoints('n2', true);
    service('Cluster', '10.6.0.1');
    await until('any node will do', isTold(true));
    // From the disk, when the API server is away: the same.
    await bench.stop();
    bench.api.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    bench.announced = [];
    await bench.start();
    await until('from memory', isTold(true));
    expect(bench.agent.status.state.reason).toBe('WorkingFromMemory');
  }, 30_000);

  test('a Node to be drained: first GRACEFUL_SHUTDOWN, then nothing; and back', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    const settings: Parameters<typeof bench.start>[0] = {
      filePeers: [
        {
          name: 'tor',
          address: '10.4.94.1',
          port: 179,
          asn: 64524,
          localAsn: 64513,
          families: ['ipv4'],
          holdSeconds: 90,
          gracefulRestartSeconds: 120,
          nodeSelectors: [],
        },
      ],
    };
    await bench.start(settings);
    await ready();
    const annotations = { 'cadastre.dev/drain': 'true' };
    bench.putNode('n1', '10.4.94.32', { metadata: { annotations } });
    await until('graceful', () => bench.lastResorts().length === 1);
    expect(bench.prefixes()).toEqual(['10.5.113.0/24']);
    await until('withdrawn', () => bench.prefixes().length === 0);
    expect(bench.routes()).toEqual(['unreachable 10.5.113.0/24']);
    const steps = () => {
      const { drain } = bench.reports.at(-1) as { drain: { steps: { step: string }[] } | null };
      return drain?.steps.map(({ step }) => step) ?? [];
    };
    const all = ['Asked', 'GracefulShutdown', 'Acknowledged', 'Moved', 'Withdrawn'];
    await until('every step is reported', () => steps().join() === all.join());
    // A new run of the agent does not bring the routes back, not for a moment.
    await bench.stop();
    bench.steps.length = 0;
    await bench.start(settings);
    await ready();
    await until('the routers are told', () => bench.steps.some((step) => step === 'routers '));
    expect(bench.steps.filter((step) => /^routers .*10\.5/.test(step))).toEqual([]);
    expect(steps()).toEqual(all);
    bench.putNode('n1', '10.4.94.32');
    await until('announced again', () => bench.prefixes().length === 1);
    expect(bench.lastResorts()).toEqual([]);
    await until('the report is silent about it', () => steps().length === 0);
  });
});

describe('a block that is not announced', () => {
  const reasons = () =>
    bench.agent.status
      .json()
      .unannounced.map(({ cidr, peer, reason }) => `${cidr} ${peer ?? 'all'} ${reason}`)
      .join();
  const reported = () => JSON.stringify(bench.reports.at(-1)?.unannounced ?? []);
  const tor = {
    name: 'tor',
    address: '10.4.94.1',
    port: 179,
    asn: 64524,
    localAsn: 64513,
    families: ['ipv4', 'ipv6'] as const,
    holdSeconds: 90,
    gracefulRestartSeconds: 120,
    nodeSelectors: [],
  };

  test('says that there is no peer, or no session; in the status, the report and the log once', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await bench.start();
    await until('no peer', () => reasons() === '10.5.113.0/24 all NoPeerSelectsNode');
    await until('it is reported', () => reported().includes('NoPeerSelectsNode'));
    await bench.stop();
    // Not from memory, which knows of no peer: on a busy machine the API server may be slow.
    await bench.start({ filePeers: [tor], apiGraceMs: 60_000, pace: { lookAgainTicks: 1 } });
    await until('no session', () => reasons() === '10.5.113.0/24 tor SessionNotEstablished');
    await until('it is reported', () => reported().includes('the session with tor (10.4.94.1)'));
    bench.sessions = [{ peer: 'tor', families: ['ipv4', 'ipv6'] }];
    await until('it is announced', () => reasons() === '');
    await until('the report is silent', () => reported() === '[]');
    const said = bench.logged.filter((line) => line.includes('10.5.113.0/24 is not announced'));
    expect(said).toEqual([
      'info 10.5.113.0/24 is not announced: no BGP peer is configured',
      'info 10.5.113.0/24 is not announced to tor: the session with tor (10.4.94.1) is Idle',
    ]);
    expect(bench.logged.at(-1)).toBe('info every block of the node is announced to every peer');
  });

  test('says that the kernel refuses its route', async () => {
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    bench.sessions = [{ peer: 'tor', families: ['ipv4'] }];
    await bench.start({ filePeers: [tor] });
    await until('it is announced', () => bench.prefixes().length === 1 && reasons() === '');
    bench.kernel.failures = 1_000;
    bench.putBlock('10.5.114.0/24', 'n1', uid);
    await until('why', () => reasons() === '10.5.114.0/24 all KernelRoutePending');
    await until('it is reported', () => reported().includes('the kernel is busy'));
    bench.kernel.failures = 0;
    await until('it is announced, too', () => bench.prefixes().length === 2 && reasons() === '');
  }, 30_000);
});

describe('by demand', () => {
  test('it asks for more before it runs out', async () => {
    bench.putBlock('10.5.113.0/28', 'n1', uid);
    await bench.start({ byDemand: true, preAllocate: 8 });
    await ready();
    const needs = (count: number) =>
      until(`it needs ${count}`, () => {
        const { ipv4 } = (bench.report()?.neededAddresses ?? {}) as { ipv4?: number };
        return ipv4 === count;
      });
    await needs(8);
    for (let i = 0; i < 9; i++) await give(`pod ${i}`);
    await needs(24);
  });

  test('an empty block is given back by its uid, gives out nothing more, over a restart too', async () => {
    bench.putBlock('10.5.113.0/28', 'n1', uid);
    const block = bench.putBlock('10.5.114.0/28', 'n1', uid);
    await bench.start({ byDemand: true, preAllocate: 4 });
    await ready();
    const releases = [{ cidr: '10.5.114.0/28', uid: block }];
    await until('it is given back', () =>
      (JSON.stringify(bench.report()?.releases) ?? '').includes(block),
    );
    expect(bench.report()?.releases).toEqual(releases);
    await bench.stop();
    await bench.start({ byDemand: true, preAllocate: 64 });
    await ready();
    expect(bench.book.use().map(({ isDraining }) => isDraining)).toEqual([false, true]);
    bench.deleteBlock('10.5.114.0/28');
    await until('the word is taken back', () => bench.report()?.releases?.toString() === '');
  });

  test('a pod that comes at the last moment keeps its block from being given back', async () => {
    bench.putBlock('10.5.113.0/28', 'n1', uid);
    await bench.start({ byDemand: true, preAllocate: 4 });
    await ready();
    for (let i = 0; i < 12; i++) await give(`pod ${i}`);
    bench.putBlock('10.5.114.0/28', 'n1', uid);
    await until('there are two', () => bench.book.use().length === 2);
    const inSecond = (owner: string) =>
      bench.book.allocate({
        owner,
        families: ['ipv4'],
        requested: [parseAddress('10.5.114.5')!],
      });
    await inSecond('first');
    let late: Awaited<ReturnType<typeof inSecond>> | undefined;
    bench.kernel.meanwhile = async () => {
      if (bench.book.find('first') === undefined) late ??= await inSecond('late');
    };
    for (let i = 1; i < 12; i++) await bench.book.release(`pod ${i}`);
    await bench.book.release('first');
    await until('it came', () => late !== undefined);
    expect(late).toMatchObject({ kind: 'allocated' });
    const counted = () => JSON.stringify(bench.reports.at(-1)?.blocks).match(/"pods":1,/g);
    await until('that is reported', () => counted()?.length === 2);
    expect(bench.book.use().map(({ isDraining }) => isDraining)).toEqual([false, false]);
    expect(bench.report()?.releases).toEqual([]);
  });
});
