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
import { attackBgp, floodBgp } from './doors/bgp-door.ts';
import { attackBmp, floodBmp } from './doors/bmp-door.ts';
import { attackConsole } from './doors/console-door.ts';
import { attackFiles } from './doors/files-door.ts';
import { attackJournals } from './doors/journals-door.ts';
import { attackPlugin } from './doors/plugin-door.ts';
import { Tally } from './tally.ts';
import { examine, type Figures, type Limits, measured } from './target.ts';
import { startWitness, type WitnessProcess } from './witness-process.ts';

export interface Attack {
  seed: number;
  scale: number;
  onDoor?: (tally: Tally) => void;
}

export interface Outcome {
  figures: Map<string, Figures>;
  broken: string[];
}

/** Measured: 0.6 s for a body that is a hundred thousand brackets, and 410 MB. */
const upLimits: Limits = { longestTurnMs: 3_000, mostMemoryMb: 700 };
const routesAtScale1 = 50_000;
/** Measured: 206 MB with floods of 50,000 routes, 522 MB with floods of 200,000. */
const witnessLimits = (routes: number): Limits => ({
  longestTurnMs: 3_000,
  mostMemoryMb: 400 + (2 * routes) / 1_000,
});

/** One door after the other, and what was broken at the end. */
export async function attackEveryDoor({ seed, scale, onDoor }: Attack): Promise<Outcome> {
  const random = new Random(seed);
  const broken: string[] = [];
  const figures = new Map<string, Figures>();
  const at = async (door: Promise<Tally>) => {
    const tally = await door;
    onDoor?.(tally);
    broken.push(...tally.broken);
  };
  await at(attackPlugin(random, 100 * scale));
  await at(attackFiles(random, 250 * scale));
  await at(attackJournals(random, 60 * scale));
  const up = await startUp([], (dir) => measured(dir, 'up'));
  try {
    const access = accessOf(up);
    const before = await stateOf(access);
    const { changeToken } = await up.printed();
    await at(attackConsole({ port: up.port, changeToken, random, count: 300 * scale }));
    await at(attackApiWithoutToken(access, { random, seed, count: 300 * scale }));
    await at(attackAgent(join(up.dataDir, 'nodes/master1/agent.sock'), random, 300 * scale));
    if ((await stateOf(access)) !== before) broken.push('up: objects were changed without a token');
    const witness = await startWitness(up.dir, up.kubeconfigPath);
    try {
      await at(attackBgp(witness.bgp, random, 2_000 * scale));
      await at(attackBmp(witness.bmp, random, 300 * scale));
      const routes = routesAtScale1 * scale;
      await at(floodWitness(witness, routes));
      const examined = await examine(witness.part, up.dir, 'witness', witnessLimits(routes));
      figures.set('witness', examined.figures);
      broken.push(...examined.broken);
    } finally {
      await witness.part.stop();
    }
    // Last: whoever has the token may change everything.
    await at(attackApi(access, seed, 400 * scale));
    const examined = await examine(up.part, up.dir, 'up', upLimits);
    figures.set('up', examined.figures);
    broken.push(...examined.broken);
  } finally {
    await up.stop();
  }
  return { figures, broken };
}

/** A router that advertises so many routes, and another that reports as many by BMP. */
async function floodWitness(witness: WitnessProcess, routes: number): Promise<Tally> {
  const tally = new Tally('route flood');
  for (const [name, hasReadAll] of [
    ['BGP', await floodBgp(witness.bgp, routes)],
    ['BMP', await floodBmp(witness.bmp, routes)],
  ] as const) {
    tally.count(`${routes} routes by ${name}`);
    if (!hasReadAll) tally.breaks(`${name}: the session was ended before all routes were read`);
  }
  return tally;
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
