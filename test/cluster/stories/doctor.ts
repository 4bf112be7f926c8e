/** The doctor on a cluster in which all is well: it has seen everything, and finds nothing. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cadastreProgram } from '../../world/operator-process.ts';
import { type Cluster, whenTrue } from '../cluster.ts';

export function doctorStories(cluster: () => Cluster, when: string): void {
  describe('the doctor', () => {
    test(`${when} has no finding, with the router's tables`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'cadastre-dumps-'));
      try {
        // A route that was announced a moment ago is on its way.
        await whenTrue(async () => {
          const dumps = [];
          for (const family of ['ipv4', 'ipv6'] as const) {
            const file = join(folder, `${family}.json`);
            writeFileSync(file, await cluster().routerDump(family));
            dumps.push('--rib', `router=${file}`);
          }
          const words = ['doctor', `--kubeconfig=${cluster().kubeconfig}`, ...dumps];
          const { code, stdout } = await cadastre(words);
          expect({ code, stdout }).toMatchObject({ code: 0 });
          expect(stdout).toMatch(/^Checked 3 nodes, 6 blocks/);
        });
      } finally {
        rmSync(folder, { recursive: true });
      }
    }, 300_000);
  });
}

async function cadastre(words: readonly string[]): Promise<{ code: number; stdout: string }> {
  const program = await cadastreProgram();
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...words], (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ code: error === null ? 0 : Number(error.code), stdout: stdout + stderr });
    });
  });
}
