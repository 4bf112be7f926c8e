import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PropertySoak {
  /** The checkout. */
  dir: string;
  /** After this long no new round begins; there is always one. */
  minutes: number;
  /** How many times the usual runs. */
  factor: number;
  /** Only test files whose path holds one of them; none: all. */
  words: readonly string[];
  nextSeed(): number;
  print(line: string): void;
}

interface Tally {
  runs: number;
  properties: Set<string>;
}

export async function soakProperties(soak: PropertySoak): Promise<boolean> {
  const files = filesWithProperties(soak);
  const startedMs = performance.now();
  const minutes = () => (performance.now() - startedMs) / 60_000;
  const tally: Tally = { runs: 0, properties: new Set() };
  let rounds = 0;
  let hasPassed = true;
  do {
    const seed = soak.nextSeed();
    const output = await runRound(soak, files, seed, tally);
    rounds += 1;
    hasPassed = output === undefined;
    soak.print(`seed ${seed}: ${hasPassed ? 'passed' : 'FAILED'}, ${account(tally)}`);
    if (output !== undefined) {
      soak.print(output);
      const replays = new Set(output.match(/^.*\breplay: .*$/gm)?.map((line) => line.trim()));
      // What failed may be no property: then the whole round is what can be repeated.
      const round = `npm run soak -- properties --minutes 0 --factor ${soak.factor} --seed ${seed}`;
      for (const line of replays.size > 0 ? replays : [`replay: ${round}`]) soak.print(line);
    }
  } while (hasPassed && minutes() < soak.minutes);
  soak.print(`${account(tally)}, rounds: ${rounds}, minutes: ${minutes().toFixed(1)}`);
  return hasPassed;
}

const account = ({ runs, properties }: Tally) => `${runs} runs of ${properties.size} properties`;

function filesWithProperties({ dir, words }: PropertySoak): string[] {
  return ['src', 'test']
    .filter((top) => existsSync(join(dir, top)))
    .flatMap((top) =>
      readdirSync(join(dir, top), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(top, path),
      ),
    )
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .filter((path) => readFileSync(join(dir, path), 'utf8').includes('fc.assert('));
}

/** What vitest printed if something failed. */
async function runRound(
  { dir, factor }: PropertySoak,
  files: readonly string[],
  seed: number,
  tally: Tally,
): Promise<string | undefined> {
  const scratch = mkdtempSync(join(tmpdir(), 'cadastre-properties-'));
  const noted = join(scratch, 'tally');
  try {
    const args = ['run', '--testTimeout=0', '--reporter=dot', '--no-color', ...files];
    const child = spawn(join(dir, 'node_modules/.bin/vitest'), args, {
      cwd: dir,
      env: {
        ...process.env,
        FC_SEED: `${seed}`,
        FC_FACTOR: `${factor}`,
        FC_TALLY: noted,
        NO_COLOR: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const pieces: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => pieces.push(piece));
    }
    const code = await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    for (const line of existsSync(noted) ? readFileSync(noted, 'utf8').trim().split('\n') : []) {
      const { property, numRuns } = JSON.parse(line) as { property: string; numRuns: number };
      tally.runs += numRuns;
      tally.properties.add(property);
    }
    return code === 0 ? undefined : Buffer.concat(pieces).toString('utf8');
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
