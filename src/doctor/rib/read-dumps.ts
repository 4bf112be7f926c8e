import { stat } from 'node:fs/promises';
import { addToGroup } from '../../base/add-to-group.ts';
import type { Clock } from '../../base/clock.ts';
import { listNames, plural } from '../../base/count-text.ts';
import { CadastreError } from '../../base/errors.ts';
import { fileFault, mostDataOctets, readWholeFile } from '../../base/text-file.ts';
import type { Family } from '../../net/family.ts';
import { families } from '../../net/family.ts';
import { isNameless } from '../../plan/doctor/next-hops.ts';
import type { SeenRouter } from '../../witness/connected-router.ts';
import { anyFamily, readRib } from './read-rib.ts';
import { PrefixInterner, type RibDump } from './rib-dump.ts';

/** A router's own dump: what the router is called, and the file; `-` is stdin. */
export interface RibDumpFile {
  router: string;
  path: string;
  /** The VRF whose table counts; the default one where none is named. */
  vrf?: string | undefined;
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
  for (const file of files) {
    addToGroup(byRouter, file.router, await readDump(file, interner, reader));
  }
  return [...byRouter].map(([router, dumps]) => merge(router, dumps));
}

async function readDump(
  { router, path, vrf }: RibDumpFile,
  interner: PrefixInterner,
  reader: DumpReader,
) {
  const flag = `--rib ${router}=${path}`;
  let bytes: Uint8Array;
  let atMs = reader.clock.wallMs();
  try {
    bytes = path === '-' ? await reader.readStdin() : readWholeFile(path, mostDataOctets);
    if (path !== '-') atMs = (await stat(path)).mtimeMs;
  } catch (error) {
    throw new CadastreError('BAD_INPUT', `${flag}: ${fileFault(error)}`, { cause: error });
  }
  const read = readRib(bytes, { interner, vrf });
  if (read.kind === 'refused') throw new CadastreError('BAD_INPUT', `${flag}: ${read.problem}`);
  const ageSeconds = Math.max(0, Math.round((reader.clock.wallMs() - atMs) / 1000));
  return { dump: read.rib, ageSeconds };
}

function merge(
  router: string,
  dumps: ReadonlyArray<{ dump: RibDump; ageSeconds: number }>,
): SeenRouter {
  const whole = dumps.filter(({ dump }) => dump.partial === undefined);
  const shown = new Set<Family>(whole.flatMap(({ dump }) => [...dump.families]));
  const isEmpty = whole.some(({ dump }) => dump.families.size === 0);
  // A table without routes does not say of which family it is: of those not shown otherwise.
  const covered = new Set<Family>(isEmpty ? anyFamily : shown);
  const routes = dumps.flatMap(({ dump }) => dump.routes);
  const formats = [...new Set(dumps.map(({ dump }) => dump.format))].filter(
    (format) => format !== 'empty',
  );
  const missing = families.filter((family) => !covered.has(family));
  const parts = dumps.flatMap(({ dump }) => dump.partial ?? []);
  const only = missing.length === 1 ? ` (${[...covered]} only)` : '';
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
      state: parts.length > 0 ? 'partly' : 'seen',
      ageSeconds: Math.max(...dumps.map(({ ageSeconds }) => ageSeconds)),
      holds: `${formats.join(', ') || 'a table'}: ${plural(routes.length, 'route')}${only}`,
      ...noteOf(
        dumps.map(({ dump }) => dump),
        parts,
      ),
    },
  };
}

/** What a person must know of a table before trusting it. */
function noteOf(dumps: readonly RibDump[], parts: readonly string[]): { note?: string } {
  const routes = dumps.flatMap((dump) => dump.routes);
  const skipped = dumps.reduce((sum, dump) => sum + dump.skipped, 0);
  const vrfs = [...new Set(dumps.flatMap((dump) => dump.otherVrfs))];
  const nameless = routes.filter(isNameless).length;
  const notes = [
    ...parts.map((why) => `${why}: a part of a table, and missing routes were not judged`),
    ...(routes.length === 0 ? ['it holds nothing at all'] : []),
    ...(skipped > 0 ? [`${skipped} entries are no unicast routes and were passed over`] : []),
    ...(vrfs.length > 0 ? [`other VRFs were not read (--rib-vrf): ${listNames(vrfs)}`] : []),
    ...(nameless > 0
      ? [`${plural(nameless, 'route')} by a link-local next hop: where they lead is not known`]
      : []),
  ];
  return notes.length > 0 ? { note: notes.join('; ') } : {};
}
