import { execFileSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';

export interface Calls {
  /** The namespace of the node, in which plugins run. */
  netns: string;
  shim: string;
  socket: string;
  folder: string;
  /** Paths of namespaces. */
  pods: string[];
}

const ONE_AT_A_TIME = 160;
const WARM_UP = 60;
const IN_PARALLEL = 100;
const ROUNDS = 5;

/** All measurements; leaves every pod added by our plugin. */
export function drive({ netns, shim, socket, folder, pods }: Calls): void {
  const caller = join(folder, 'caller');
  execFileSync('musl-gcc', ['-static', '-O2', '-o', caller, resolve('bench/cni/caller.c')]);
  const env = {
    PATH: process.env.PATH,
    CADASTRE_SOCKET: socket,
    CADASTRE_CNI_SPOOL: join(folder, 'spool'),
    CNI_IFNAME: 'eth0',
    CNI_PATH: `${dirname(shim)}:/usr/lib/cni`,
  };
  const plugins = {
    ours: [shim, JSON.stringify({ cniVersion: '1.0.0', name: 'ours', type: 'cadastre' })],
    reference: [
      '/usr/lib/cni/ptp',
      JSON.stringify({
        cniVersion: '1.0.0',
        name: 'reference',
        type: 'ptp',
        ipam: {
          type: 'host-local',
          subnet: '10.91.0.0/22',
          dataDir: join(folder, 'host-local'),
          routes: [{ dst: '0.0.0.0/0' }],
        },
      }),
    ],
  };
  type Side = keyof typeof plugins;

  /** Milliseconds: of each call, or of all together. */
  const call = (how: 'one' | 'all', side: Side, command: string, some: string[]): number[] => {
    const places = some.map((path) => `${path.slice(path.lastIndexOf('/') + 1)}=${path}`);
    const words = [`--net=${netns}`, caller, how, ...plugins[side], command, ...places];
    const lines = execFileSync('nsenter', words, { env, encoding: 'utf8' }).trim().split('\n');
    return lines.map((line) => Number(line) / 1000);
  };

  const times = { ours: times0(), reference: times0() };
  // In turns, so that whatever else the machine does hits both.
  for (const [index, pod] of pods.slice(0, ONE_AT_A_TIME).entries()) {
    for (const side of ['ours', 'reference'] as const) {
      const add = call('one', side, 'ADD', [pod]);
      const del = call('one', side, 'DEL', [pod]);
      if (index < WARM_UP) continue;
      times[side].add.push(...add);
      times[side].del.push(...del);
    }
  }
  for (const command of ['add', 'del'] as const) {
    report(`cni-${command}`, times.ours[command], times.reference[command]);
  }

  const together: Record<Side, number[]> = { ours: [], reference: [] };
  const some = pods.slice(0, IN_PARALLEL);
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of ['ours', 'reference'] as const) {
      together[side].push(...call('all', side, 'ADD', some));
      call('all', side, 'DEL', some);
    }
  }
  report('cni-add-parallel', together.ours, together.reference);
  call('one', 'ours', 'ADD', pods);
}

function times0(): { add: number[]; del: number[] } {
  return { add: [], del: [] };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function report(name: string, ours: number[], theirs: number[]): void {
  const [own, other] = [median(ours), median(theirs)];
  console.log(`${name}: p50 ${own.toFixed(1)} ms, ptp and host-local ${other.toFixed(1)} ms`);
  console.log(`ratio ${name} ${(own / other).toFixed(3)}`);
}
