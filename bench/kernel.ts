/**
 * Pods and routes over netlink against the same done by `ip -batch`, in
 * namespaces of its own (root, Linux). `ratio kernel-wire` and `ratio
 * kernel-unwire` are p50 over p50, one pod at a time; `ratio kernel-routes` is a
 * thousand routes declared, over the same in one `ip -batch`. `ip` is the
 * fastest that needs no native code; below 1 we are faster.
 */
import { execFileSync } from 'node:child_process';
import { NetlinkKernel } from '../src/kernel/netlink-kernel.ts';
import type { PodWiring } from '../src/kernel/pod.ts';
import { type Address, parseAddress } from '../src/net/address.ts';
import { type Prefix, parsePrefix } from '../src/net/prefix.ts';

const PODS = 100;
const ROUTES = 1_000;
const node = `cad-${process.pid}-node`;
const pods = Array.from({ length: PODS }, (_, index) => `cad-${process.pid}-p${index}`);

const ip = (args: string[], input?: string) =>
  execFileSync('ip', args, input === undefined ? {} : { input });

const wirings = pods.map(
  (name, index): PodWiring => ({
    netnsPath: `/run/netns/${name}`,
    ifName: 'eth0',
    hostIfName: `cadbench${index}`,
    addresses: [`10.5.1.${index}`, `fd05::${index}`].map((text) => parseAddress(text) as Address),
    mtu: 1450,
  }),
);

/** What wirePod leaves behind, as lines for `ip -batch`. */
function batches(index: number): { inNode: string; inPod: string } {
  const host = `cadbench${index}`;
  return {
    inNode: `link add ${host} mtu 1450 type veth peer name eth0 mtu 1450 netns ${pods[index]}
link set ${host} addrgenmode none
link set ${host} up
addr add 169.254.1.1/32 dev ${host} scope host
addr add fe80::1/128 dev ${host} nodad
route add 10.5.1.${index}/32 dev ${host} proto 84
route add fd05::${index}/128 dev ${host} proto 84\n`,
    inPod: `link set eth0 up
addr add 10.5.1.${index}/32 dev eth0
addr add fd05::${index}/128 dev eth0 nodad
route add default via 169.254.1.1 dev eth0 onlink proto 84
route add ::/0 via fe80::1 dev eth0 onlink proto 84\n`,
  };
}

try {
  for (const name of [node, ...pods]) ip(['netns', 'add', name]);
  ip(['-n', node, 'link', 'set', 'lo', 'up']);
  const kernel = new NetlinkKernel({ netnsPath: `/run/netns/${node}` });

  const ours = { wire: [] as number[], unwire: [] as number[] };
  const theirs = { wire: [] as number[], unwire: [] as number[] };
  // In turns, so that whatever else the machine does hits both.
  for (let index = 0; index < PODS; index++) {
    const wiring = wirings[index] as PodWiring;
    ours.wire.push(await timed(() => kernel.wirePod(wiring)));
    ours.unwire.push(await timed(() => kernel.unwirePod(wiring)));
    const { inNode, inPod } = batches(index);
    theirs.wire.push(
      await timed(async () => {
        ip(['-n', node, '-batch', '-'], inNode);
        ip(['-n', pods[index] as string, '-batch', '-'], inPod);
      }),
    );
    theirs.unwire.push(
      await timed(async () => ip(['-n', node, 'link', 'del', `cadbench${index}`])),
    );
  }
  report('wire', ours.wire, theirs.wire);
  report('unwire', ours.unwire, theirs.unwire);

  const together = await timed(() => Promise.all(wirings.map((each) => kernel.wirePod(each))));
  const apart = await timed(() => Promise.all(wirings.map((each) => kernel.unwirePod(each))));
  console.log(`${PODS} pods in parallel: wired in ${ms(together)}, unwired in ${ms(apart)}`);

  await kernel.createVeth({ name: 'cad0', peerName: 'cad1' });
  await kernel.changeLink('cad0', { isUp: true });
  await kernel.changeLink('cad1', { isUp: true });
  const wanted = Array.from({ length: ROUTES }, (_, index) => ({
    prefix: parsePrefix(`10.${64 + (index >> 8)}.${index & 255}.0/24`) as Prefix,
    via: parseAddress('10.4.0.2') as Address,
    device: 'cad0',
    isOnLink: true,
  }));
  const lines = (verb: string) =>
    wanted.map(({ prefix }) => `route ${verb} ${prefix} via 10.4.0.2 dev cad0 onlink\n`).join('');
  const declared: number[] = [];
  const batched: number[] = [];
  const again: number[] = [];
  for (let round = 0; round < 9; round++) {
    declared.push(await timed(() => kernel.setRoutes(wanted)));
    again.push(await timed(() => kernel.setRoutes(wanted)));
    await kernel.setRoutes([]);
    batched.push(await timed(async () => ip(['-n', node, '-batch', '-'], lines('add'))));
    ip(['-n', node, '-batch', '-'], lines('del'));
  }
  report('routes', declared, batched);
  console.log(`${ROUTES} routes declared again, nothing to do: ${ms(p50(again))}`);
  kernel.close();
} finally {
  for (const name of [node, ...pods]) {
    try {
      ip(['netns', 'del', name]);
    } catch {
      // It was never made.
    }
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function p50(times: number[]): number {
  return times.toSorted((x, y) => x - y)[times.length >> 1] as number;
}

function ms(time: number): string {
  return `${time.toFixed(1)} ms`;
}

function report(name: string, ours: number[], theirs: number[]): void {
  console.log(`${name}: p50 ${ms(p50(ours))}, with ip ${ms(p50(theirs))}`);
  console.log(`ratio kernel-${name} ${(p50(ours) / p50(theirs)).toFixed(2)}`);
}
