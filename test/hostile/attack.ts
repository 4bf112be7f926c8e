/**
 * Floods and damaged input at every door of ours, with figures. The programs are the built
 * ones, in processes of their own; a promise that is broken is a line of words. `scale` 1 is
 * what `npm test` does; the soak does many times as much.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../soak/bgp-codec/mutator.ts';
import { startUp, type UpProcess } from '../up/up-process.ts';
import { attackAgent } from './doors/agent-door.ts';
import {
  type ApiAccess,
  attackApi,
  attackApiWithoutToken,
  stateOf,
} from './doors/apiserver-door.ts';
import { attackConsole } from './doors/console-door.ts';
import type { Tally } from './tally.ts';
import { examine, type Figures, type Limits, measured } from './target.ts';

export interface Attack {
  seed: number;
  scale: number;
  onDoor?: (tally: Tally) => void;
}

export interface Outcome {
  tallies: Tally[];
  figures: Map<string, Figures>;
  broken: string[];
}

/** Measured: 0.1 s and 260 MB; a request that costs a second stops everybody else for that long. */
const upLimits: Limits = { longestTurnMs: 1_000, mostMemoryMb: 600 };

/** `cadastre up`: console, embedded API server and agents in one process. */
export async function attackUp({ seed, scale, onDoor }: Attack): Promise<Outcome> {
  const tallies: Tally[] = [];
  const random = new Random(seed);
  const up = await startUp([], (dir) => measured(dir, 'up'));
  try {
    const access = accessOf(up);
    const before = await stateOf(access);
    const { changeToken } = await up.printed();
    const { port } = up;
    const doors = [
      () => attackConsole({ port, changeToken, random, count: 400 * scale }),
      () => attackApiWithoutToken(access, { random, seed, count: 400 * scale }),
      () => attackAgent(join(up.dataDir, 'nodes/master1/agent.sock'), random, 400 * scale),
    ];
    const broken: string[] = [];
    const attack = async (door: () => Promise<Tally>) => {
      const tally = await door();
      onDoor?.(tally);
      tallies.push(tally);
      broken.push(...tally.broken);
    };
    for (const door of doors) await attack(door);
    if ((await stateOf(access)) !== before) broken.push('up: objects were changed without a token');
    // Last: whoever has the token may change everything.
    await attack(() => attackApi(access, seed, 600 * scale));
    const examined = await examine(up.part, up.dir, 'up', upLimits);
    broken.push(...examined.broken);
    if (!(await fetch(`${up.url}/livez`)).ok) broken.push('up: /livez does not answer');
    return { tallies, figures: new Map([['up', examined.figures]]), broken };
  } finally {
    await up.stop();
  }
}

function accessOf(up: UpProcess): ApiAccess {
  const { clusters, users } = JSON.parse(readFileSync(up.kubeconfigPath, 'utf8')) as {
    clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
    users: [{ user: { token: string } }];
  };
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const { hostname, port } = new URL(server);
  return {
    host: hostname,
    port: Number(port),
    ca: Buffer.from(ca, 'base64').toString(),
    token: users[0].user.token,
  };
}
