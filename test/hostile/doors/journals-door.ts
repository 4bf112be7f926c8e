/** What is kept on disk, damaged: it is opened, or refused by a sentence that names the file. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AddressBook } from '../../../src/agent/address-book.ts';
import { startApiServer } from '../../../src/apiserver/apiserver.ts';
import { ObjectStore } from '../../../src/apiserver/store/store.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { CadastreError } from '../../../src/base/errors.ts';
import { unsyncedFiles } from '../../../src/base/journal/durable-files.ts';
import { parsePrefix } from '../../../src/net/prefix.ts';
import type { Random } from '../../soak/bgp-codec/mutator.ts';
import { damagedBytes } from '../damage.ts';
import { Tally } from '../tally.ts';

interface Kind {
  name: string;
  /** Whole, never changed. */
  folder: string;
  open: (folder: string) => Promise<{ close(): Promise<void> }>;
}

export async function attackJournals(random: Random, count: number): Promise<Tally> {
  const tally = new Tally('journals');
  const root = mkdtempSync(join(tmpdir(), 'cadastre-hostile-journals-'));
  const kinds: Kind[] = [
    {
      name: 'agent',
      folder: await writeBook(join(root, 'agent')),
      open: (folder) => openBook(folder),
    },
    {
      name: 'API server',
      folder: await writeStore(join(root, 'api')),
      open: (dir) => ObjectStore.open({ dir, waitsForDisk: false }),
    },
  ];
  for (let n = 0; n < count; n++) {
    const { name, folder, open } = kinds[n % kinds.length] as Kind;
    const copy = join(root, 'copy');
    cpSync(folder, copy, { recursive: true });
    const files = readdirSync(copy).filter((file) => statSync(join(copy, file)).size > 0);
    const file = join(copy, random.pick(files));
    const damaged = damagedBytes(readFileSync(file), random);
    writeFileSync(file, damaged);
    let outcome = 'opened';
    try {
      await (await open(copy)).close();
    } catch (error) {
      outcome = 'refused';
      if (!(error instanceof CadastreError)) tally.breaks(`${name}: ${(error as Error).stack}`);
    }
    tally.count(`${name} ${outcome}`);
    rmSync(copy, { recursive: true });
  }
  rmSync(root, { recursive: true });
  return tally;
}

async function openBook(folder: string): Promise<AddressBook> {
  const book = await AddressBook.open({
    files: unsyncedFiles,
    folder,
    clock: systemClock,
    restMs: 0,
  });
  book.setBlocks([{ prefix: parsePrefix('10.5.112.0/24')!, isDraining: false }]);
  return book;
}

async function writeBook(folder: string): Promise<string> {
  mkdirSync(folder, { mode: 0o700 });
  const book = await openBook(folder);
  for (let n = 0; n < 60; n++) await book.allocate({ owner: `pod-${n}`, families: ['ipv4'] });
  await book.close();
  return folder;
}

async function writeStore(dataDir: string): Promise<string> {
  const api = await startApiServer({ dataDir, waitsForDisk: false });
  await api.stop();
  return join(dataDir, 'objects');
}
