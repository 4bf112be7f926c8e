/** Where topologies come from: a file, or one of those that are shipped. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CadastreError, describeError } from '../base/errors.ts';
import { readTopology } from './read-topology.ts';
import type { Topology } from './topology.ts';

export interface LoadedTopology {
  readonly topology: Topology;
  readonly text: string;
}

/** The folder beside dist/ in an installed package, and at the root of a checkout. */
function shippedFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const found = ['..', '../..'].map((up) => join(here, up, 'topologies')).find(existsSync);
  if (found !== undefined) return found;
  throw new CadastreError('LAB_FAILED', `there is no folder topologies above ${here}`, {
    remedy: 'Install cadastre again, or give the path of a topology.',
  });
}

export function shippedTopologies(): string[] {
  return readdirSync(shippedFolder())
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .sort();
}

/** `incident`, or the path of a file. */
export function loadTopology(wanted: string): LoadedTopology {
  const isPath = wanted.includes('/') || /\.ya?ml$/.test(wanted);
  if (!isPath && !shippedTopologies().includes(wanted)) {
    throw new CadastreError('BAD_USAGE', `there is no topology "${wanted}"`, {
      remedy: `There are ${shippedTopologies().join(', ')}; or give the path of a file, ./${wanted}.yaml.`,
    });
  }
  const path = isPath ? wanted : join(shippedFolder(), `${wanted}.yaml`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CadastreError('BAD_INPUT', `${path}: ${describeError(cause)}`, { cause });
  }
  const name = basename(path).replace(/\.ya?ml$/, '');
  const read = readTopology(name, text);
  if (read.kind === 'topology') return { topology: read.topology, text };
  const lines = read.problems.map(({ line, key, sentence }) =>
    [`${path}:${line}`, sentence.startsWith(key) ? '' : key, sentence].filter(Boolean).join(': '),
  );
  throw new CadastreError('BAD_INPUT', lines.join('\n'));
}
