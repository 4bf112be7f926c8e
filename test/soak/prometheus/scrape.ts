/** What the programs expose, against docs/metrics.md and Prometheus' own conventions. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Site } from './site.ts';

/** How many series were looked at. */
export async function checkScrape(site: Site, programs: string): Promise<number> {
  const page = readFileSync('docs/metrics.md', 'utf8');
  const labelsOf = new Map(
    [...page.matchAll(/^\| `(cadastre_[a-z_]+)` *\| [a-z]+ *\| ([^|]*)\|/gm)].map(
      ([, name, labels]) => [
        name!,
        labels!
          .split(',')
          .map((one) => one.trim())
          .filter(Boolean),
      ],
    ),
  );
  let series = 0;
  for (const program of site.programs) {
    if (program.part?.ended !== undefined) continue;
    const text = await site.metrics(program);
    execFileSync(join(programs, 'promtool'), ['check', 'metrics'], { input: text });
    for (const [line, name, inner = ''] of text.matchAll(
      /^(cadastre_[a-z_]+)(?:\{(.*)\})? \S+$/gm,
    )) {
      const named = labelsOf.get(name!) ?? labelsOf.get(name!.replace(/_(bucket|sum|count)$/, ''));
      const labels = [...inner.matchAll(/([a-z_]+)="/g)].map(([, label]) => label!);
      const unknown = labels.filter((label) => label !== 'le' && !named?.includes(label));
      if (named === undefined || unknown.length > 0) {
        throw new Error(`${line}: the page names ${named?.join(', ')}`);
      }
      series += 1;
    }
  }
  return series;
}
