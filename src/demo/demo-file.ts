import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What of the play itself is remembered; everything else lies in the API server. */
export interface DemoMemory {
  /** Pools and peers were put there once; who removes them does not want them back. */
  isSeeded: boolean;
  routersDown: string[];
  secondAllocator: boolean;
}

const fresh: DemoMemory = { isSeeded: false, routersDown: [], secondAllocator: false };

export async function readDemoMemory(dataDir: string): Promise<DemoMemory> {
  try {
    const text = await readFile(join(dataDir, 'demo.json'), 'utf8');
    return { ...fresh, ...(JSON.parse(text) as Partial<DemoMemory>) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { ...fresh };
  }
}

export async function writeDemoMemory(dataDir: string, memory: DemoMemory): Promise<void> {
  const path = join(dataDir, 'demo.json');
  await writeFile(`${path}.next`, JSON.stringify(memory), { flush: true });
  await rename(`${path}.next`, path);
}
