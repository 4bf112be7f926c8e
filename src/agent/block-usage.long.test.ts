import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentBench } from '../../test/parts/agent-bench.ts';
import { until } from '../../test/parts/test-api.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { crds } from '../model/crds.ts';

const cidr = '10.5.113.0/24';
const blocksCrd = crds.find(({ metadata }) => metadata?.name === 'nodeblocks.cadastre.dev')!;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
let bench: AgentBench;
let uid: string;

beforeEach(async () => {
  bench = await AgentBench.make();
  uid = bench.putNode('n1', '10.4.94.32');
});
afterEach(() => bench.end());

const tor: BgpPeer = {
  name: 'tor',
  address: '10.4.94.1',
  port: 179,
  asn: 64524,
  localAsn: 64513,
  families: ['ipv4'],
  holdSeconds: 3,
  gracefulRestartSeconds: 0,
  nodeSelectors: [],
};
const withRouter = { filePeers: [tor], pace: { lookAgainTicks: 1 }, reconfirmAfterMs: 1_000 };
const routerUp = () => {
  bench.sessions = [{ peer: 'tor', families: ['ipv4'] }];
};

const ready = () => until('it is ready', () => bench.agent.status.state.isReady);
const give = (owner: string) => bench.book.allocate({ owner, families: ['ipv4'] });
const announced = () => until('it is announced', () => bench.prefixes().includes(cidr));
const withdrawn = () => until('it is withdrawn', () => !bench.prefixes().includes(cidr));
/** Of the report that the API server has: the CIDRs in one list of its spec. */
const stated = (list: 'uses' | 'fenced' | 'silentAfter') =>
  ((bench.report()?.[list] ?? []) as Array<{ cidr: string }>).map((one) => one.cidr).join();
const states = (list: Parameters<typeof stated>[0], text: string) =>
  until(`${list} is [${text}]`, () => bench.report() !== undefined && stated(list) === text);
const findings = () => JSON.stringify(bench.reports.at(-1)?.findings ?? []);
/** Whether it was withdrawn at any time. */
const everWithdrawn = () =>
  bench.steps.some((step) => step.startsWith('routers') && !step.includes(cidr));

describe('a block that the register has lost', () => {
  test('deleted by hand: its pods stay reachable, it is claimed, gives out nothing new, and is taken back', async () => {
    const block = bench.putBlock(cidr, 'n1', uid);
    await bench.start({ pace: { missingGraceMs: 0 } });
    await ready();
    await give('shop/web');
    await states('uses', cidr);
    bench.steps.length = 0;
    bench.deleteBlock(cidr);
    await until('it is reported', () => findings().includes('BlockMissing'));
    expect(bench.report()?.uses).toEqual([{ cidr, uid: block }]);
    expect(bench.reportOwners()).toEqual(['Node n1']);
    expect(await give('another')).toMatchObject({ kind: 'refused' });
    const again = bench.putBlock(cidr, 'n1', uid);
    await ready();
    expect(await give('another')).toMatchObject({ kind: 'allocated' });
    await until('the claim is of the new one', () =>
      JSON.stringify(bench.report()).includes(again),
    );
    await until('it is well', () => findings() === '[]');
    expect(everWithdrawn()).toBe(false);
    expect(bench.logged).toContain(`info ${cidr} is in the register again`);
  });

  test('without pods it is given up after a while, and with the last pod', async () => {
    bench.putBlock(cidr, 'n1', uid);
    await bench.start({ pace: { missingGraceMs: 0 } });
    await ready();
    await give('shop/web');
    bench.deleteBlock(cidr);
    await until('it is reported', () => findings().includes('BlockMissing'));
    await bench.book.release('shop/web');
    await withdrawn();
    await states('uses', '');
  });

  test('with the whole definition: nothing is withdrawn, pods or not', async () => {
    bench.putBlock(cidr, 'n1', uid);
    await bench.start();
    await ready();
    await states('uses', cidr);
    bench.steps.length = 0;
    bench.api.delete(`${definitions}/nodeblocks.cadastre.dev`);
    await until('it is reported', () => findings().includes('BlockMissing'));
    await bench.api.register(blocksCrd);
    expect(stated('uses')).toBe(cidr);
    bench.putBlock(cidr, 'n1', uid);
    await ready();
    expect(everWithdrawn()).toBe(false);
  });

  test('after its Node, and empty: it is not given back, and announced until both are back', async () => {
    bench.putBlock(cidr, 'n1', uid);
    await bench.start();
    await ready();
    await states('uses', cidr);
    bench.steps.length = 0;
    bench.deleteNode('n1');
    await until('it waits', () => bench.agent.status.state.reason === 'WaitingForNode');
    await until('it gives out nothing', () => bench.book.use()[0]?.isDraining === true);
    bench.deleteBlock(cidr);
    await until('it is missed', () =>
      bench.logged.some((line) => line.includes('in the register')),
    );
    const again = bench.putNode('n1', '10.4.94.32');
    bench.putBlock(cidr, 'n1', again);
    await ready();
    expect(bench.report()?.releases ?? []).toEqual([]);
    expect(everWithdrawn()).toBe(false);
  });

  test('is claimed without a Node, too, by a report that nothing owns', async () => {
    bench.putBlock(cidr, 'n1', uid);
    await bench.start({ pace: { missingGraceMs: 0 } });
    await ready();
    await give('shop/web');
    await states('uses', cidr);
    bench.deleteNode('n1');
    bench.deleteBlock(cidr);
    const isThere = () => bench.report() !== undefined;
    await until('nothing owns it', () => isThere() && bench.reportOwners().length === 0);
    expect(stated('uses')).toBe(cidr);
    expect(bench.prefixes()).toEqual([cidr]);
    await bench.book.release('shop/web');
    await until(
      'it ends with the old Node',
      () => !isThere() || bench.reportOwners().join() === 'Node n1',
    );
  });
});

describe('a block that cools', () => {
  test('is withdrawn, fenced, and used again only after the report and a fresh read', async () => {
    const block = bench.putBlock(cidr, 'n1', uid);
    routerUp();
    await bench.start(withRouter);
    await ready();
    await give('shop/web');
    await states('uses', cidr);
    expect(bench.reportOwners()).toEqual(['Node n1', 'NodeBlock 10-5-113-0-24']);
    bench.deleteNode('n1');
    await until('it waits', () => bench.agent.status.state.reason === 'WaitingForNode');
    expect(bench.prefixes()).toEqual([cidr]);
    expect(await give('another')).toMatchObject({ kind: 'refused' });
    bench.putBlock(cidr, 'n1', uid, 'Cooling');
    await withdrawn();
    await states('fenced', cidr);
    expect(bench.report()).toMatchObject({
      nodeUID: uid,
      uses: [],
      fenced: [{ cidr, uid: block }],
    });
    expect(bench.reportOwners()).toEqual(['NodeBlock 10-5-113-0-24']);
    expect(bench.routes()).toEqual([`unreachable ${cidr}`]);
    expect(bench.book.find('shop/web')).toBeDefined();
    // A restart does not bring it back.
    await bench.stop();
    await bench.start(withRouter);
    await until('it waits', () => bench.agent.status.state.reason === 'WaitingForNode');
    await states('fenced', cidr);
    const next = bench.putNode('n1', '10.4.94.32');
    bench.api.asked.length = 0;
    bench.steps.length = 0;
    bench.putBlock(cidr, 'n1', next);
    await announced();
    const asked = bench.api.asked.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);
    const unfenced = bench.api.asked.findIndex(({ body }) =>
      JSON.stringify(body?.spec ?? {}).includes('"fenced":[]'),
    );
    expect(unfenced).toBeGreaterThanOrEqual(0);
    expect(asked.indexOf('GET n1', unfenced)).toBeGreaterThan(unfenced);
    expect(asked.indexOf('GET 10-5-113-0-24', unfenced)).toBeGreaterThan(unfenced);
    expect(await give('another')).toMatchObject({ kind: 'allocated' });
  });

  test('a witness on a block of a Node that is there: the same', async () => {
    bench.putBlock(cidr, 'n1', uid);
    await bench.start();
    await ready();
    await states('uses', cidr);
    bench.putBlock(cidr, 'n1', uid, 'Active', { released: { by: 'OutOfService' } });
    await withdrawn();
    await states('fenced', cidr);
    expect(await give('pod')).toMatchObject({ kind: 'refused' });
    expect(bench.agent.status.state).toMatchObject({ isReady: false, reason: 'BlockFenced' });
    bench.putBlock(cidr, 'n1', uid);
    await announced();
    await ready();
    await states('fenced', '');
    expect(bench.report()?.releases).toEqual([]);
    expect(await give('pod')).toMatchObject({ kind: 'allocated' });
  });

  test('a node that is drained states its blocks as fenced, and not when it is back', async () => {
    bench.putBlock(cidr, 'n1', uid);
    routerUp();
    await bench.start(withRouter);
    await ready();
    bench.putNode('n1', '10.4.94.32', {
      metadata: { annotations: { 'cadastre.dev/drain': 'true' } },
    });
    await withdrawn();
    await states('fenced', cidr);
    expect(await give('of a DaemonSet')).toMatchObject({ kind: 'allocated' });
    bench.putNode('n1', '10.4.94.32');
    await announced();
    await states('fenced', '');
  });
});

describe('cut off from the API server', () => {
  test('a restart of the agent alone announces at once; after another boot nothing before it is confirmed', async () => {
    bench.putBlock(cidr, 'n1', uid);
    bench.boot = { bootId: 'first', sinceBootMs: () => performance.now() };
    routerUp();
    const settings = { ...withRouter, reconfirmAfterMs: 60_000 };
    await bench.start(settings);
    await ready();
    await states('uses', cidr);
    await bench.stop();
    bench.cutOff();
    bench.announced = [];
    await bench.start(settings);
    await announced();
    expect(bench.agent.status.state.reason).toBe('WorkingFromMemory');
    await bench.stop();
    bench.boot = { bootId: 'second', sinceBootMs: () => performance.now() };
    bench.announced = [];
    await bench.start(settings);
    await until('it waits', () => bench.agent.status.state.reason === 'BlockUnconfirmed');
    expect(bench.prefixes()).toEqual([]);
    expect(bench.routes()).toEqual([`unreachable ${cidr}`]);
    expect(await give('pod')).toMatchObject({ kind: 'refused' });
    bench.heal();
    await announced();
    await ready();
    // A block on hold was never one that drains, to be given back when it is empty.
    expect(bench.report()?.releases).toEqual([]);
    expect(await give('pod')).toMatchObject({ kind: 'allocated' });
  });

  test('a router that was away for long gets nothing before the API server has confirmed the block', async () => {
    bench.putBlock(cidr, 'n1', uid);
    routerUp();
    await bench.start(withRouter);
    await ready();
    await states('uses', cidr);
    bench.cutOff();
    bench.sessions = [];
    await until('it is not sure', () => bench.agent.status.state.reason === 'BlockUnconfirmed');
    expect(bench.prefixes()).toEqual([]);
    routerUp();
    await until('it was looked at again', () =>
      bench.agent.status.json().sessions.some(({ state }) => state === 'Established'),
    );
    expect(bench.prefixes()).toEqual([]);
    bench.heal();
    await announced();
    await ready();
    // A block on hold was never one that drains, to be given back when it is empty.
    expect(bench.report()?.releases).toEqual([]);
    expect(await give('pod')).toMatchObject({ kind: 'allocated' });
  });

  test('where time releases blocks it is silent after half of it, and says so before', async () => {
    const block = bench.putBlock(cidr, 'n1', uid, 'Active', { releaseByTimeSeconds: 8 });
    routerUp();
    await bench.start(withRouter);
    await ready();
    await states('silentAfter', cidr);
    expect(bench.report()?.silentAfter).toEqual([{ cidr, uid: block, seconds: 4 }]);
    bench.cutOff();
    await withdrawn();
    expect(bench.agent.status.state.reason).toBe('BlockUnconfirmed');
    expect(await give('pod')).toMatchObject({ kind: 'refused' });
    bench.heal();
    await announced();
    await ready();
    // A block on hold was never one that drains, to be given back when it is empty.
    expect(bench.report()?.releases).toEqual([]);
    expect(await give('pod')).toMatchObject({ kind: 'allocated' });
  });
});
