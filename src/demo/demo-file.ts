import { join } from 'node:path';
import { readJsonFile, writeJsonFile } from './json-file.ts';

/** What is remembered of the demo itself; everything else is in the API server. */
export interface DemoMemory {
  /** Pools and peers were created once; whoever deletes them does not want them back. */
  isSeeded: boolean;
  routersDown: string[];
  secondAllocator: boolean;
}

export const freshMemory: DemoMemory = {
  isSeeded: false,
  routersDown: [],
  secondAllocator: false,
};

export async function readDemoMemory(dataDir: string): Promise<DemoMemory> {
  return { ...freshMemory, ...(await readJsonFile<Partial<DemoMemory>>(pathIn(dataDir))) };
}

export function writeDemoMemory(dataDir: string, memory: DemoMemory): Promise<void> {
  return writeJsonFile(pathIn(dataDir), memory);
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'demo.json');
}
