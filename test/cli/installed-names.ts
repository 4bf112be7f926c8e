import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root, runBuilt } from './built-command.ts';

/** A folder for PATH in which the programs of the package lie as npm installs them: links to one file. */
export async function linkPrograms(): Promise<{ path: string; remove: () => void }> {
  await runBuilt(['--version']);
  const folder = mkdtempSync(join(tmpdir(), 'cadastre-bin-'));
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  for (const [name, file] of Object.entries(bin)) symlinkSync(join(root, file), join(folder, name));
  return {
    path: `${folder}${delimiter}${process.env.PATH}`,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
