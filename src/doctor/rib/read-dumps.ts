import { stat } from 'node:fs/promises';
import { addToGroup } from '../../base/add-to-group.ts';
import type { Clock } from '../../base/clock.ts';
import { plural } from '../../base/count-text.ts';
import { CadastreError } from '../../base/errors.ts';
import { fileFault, mostDataOctets, readWholeFile } from '../../base/text-file.ts';
import type { Family } from '../../net/family.ts';
import { families } from '../../net/family.ts';
import type { SeenRouter } from '../../witness/connected-router.ts';
import { anyFamily, readRib } from './read-rib.ts';
import { PrefixInterner, type RibDump } from './rib-dump.ts';

/** A router's own dump: what the router is called, and the file; `-` is stdin. */
export interface RibDumpFile {
  router: string;
  path: string;
}

export interface DumpReader {
  readStdin(): Promise<Uint8Array>;
  clock: Clock;
}

/** Several files of one router (one a family, say) are one table. */
export async function readDumps(
  files: readonly RibDumpFile[],
  reader: DumpReader,
): Promise<SeenRouter[]> {
  const byRouter = new Map<string, Array<{ dump: RibDump; ageSeconds: number }>>();
  const interner = new PrefixInterner();
  for (const { router, path } of files) {
    const read = await readDump(router, path, interner, reader);
    addToGroup(byRouter, router, read);
  }
  return [...byRouter].map(([router, dumps]) => merge(router, dumps));
}

async function readDump(
  router: string,
  path: string,
  interner: PrefixInterner,
  reader: DumpReader,
) {
  const flag = `--rib ${router}=${path}`;
  let text: string;
  let atMs = reader.clock.wallMs();
  try {
    const bytes = path === '-' ? await reader.readStdin() : readWholeFile(path, mostDataOctets);
    text = new TextDecoder().decode(bytes);
    if (path !== '-') atMs = (await stat(path)).mtimeMs;
  } catch (error) {
    throw new CadastreError('BAD_INPUT', `${flag}: ${fileFault(error)}`, { cause: error });
  }
  const read = readRib(text, interner);
  if (read.kind === 'refused') throw new CadastreError('BAD_INPUT', `${flag}: ${read.problem}`);
  const ageSeconds = Math.max(0, Math.round((reader.clock.wallMs() - atMs) / 1000));
  return { dump: read.rib, ageSeconds };
}

function merge(
  router: string,
  dumps: ReadonlyArray<{ dump: RibDump; ageSeconds: number }>,
): SeenRouter {
  const shown = new Set<Family>(dumps.flatMap(({ dump }) => [...dump.families]));
  const isEmpty = dumps.some(({ dump }) => dump.families.size === 0);
  // A table without routes does not say of which family it is: of those not shown otherwise.
  const covered = new Set<Family>(isEmpty ? anyFamily : shown);
  const routes = dumps.flatMap(({ dump }) => dump.routes);
  const formats = [...new Set(dumps.map(({ dump }) => dump.format))].filter(
    (format) => format !== 'empty',
  );
  const skipped = dumps.reduce((sum, { dump }) => sum + dump.skipped, 0);
  const missing = families.filter((family) => !covered.has(family));
  const notes = [
    ...(routes.length === 0 ? ['it holds nothing at all'] : []),
    ...(skipped > 0 ? [`${skipped} entries are no unicast routes and were passed over`] : []),
  ];
  return {
    table: {
      router,
      families: covered,
      routes,
      addresses: [...new Set(dumps.flatMap(({ dump }) => dump.addresses))],
    },
    source: {
      name: router,
      kind: 'rib',
      state: 'seen',
      ageSeconds: Math.max(...dumps.map(({ ageSeconds }) => ageSeconds)),
      holds: `${formats.join(', ') || 'a table'}: ${plural(routes.length, 'route')}${missing.length === 1 ? ` (${[...covered]} only)` : ''}`,
      ...(notes.length > 0 ? { note: notes.join('; ') } : {}),
    },
  };
}
