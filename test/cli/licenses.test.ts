/** What sbom and licenses say against what the build left in dist. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, runBuilt } from './built-command.ts';

interface Listed {
  name: string;
  version: string;
  license: string;
}

async function listed(): Promise<Listed[]> {
  return JSON.parse((await runBuilt(['licenses', '-o', 'json'])).stdout) as Listed[];
}

test('every package that a source map of dist names is listed, and koffi', async () => {
  const names = new Set(['koffi']);
  const dist = join(root, 'dist');
  for (const file of readdirSync(dist).filter((name) => name.endsWith('.map'))) {
    const { sources } = JSON.parse(readFileSync(join(dist, file), 'utf8')) as {
      sources: string[];
    };
    for (const source of sources) {
      const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
      if (name !== undefined) names.add(name);
    }
  }
  // The page of the console has no source map; its one package is known.
  names.add('preact');
  expect((await listed()).map(({ name }) => name)).toEqual([...names].sort());
});

test('the text of every licence is printed', async () => {
  const { stdout } = await runBuilt(['licenses', '--full']);
  const packages = await listed();
  const parts = stdout.split(/^(.+)\n={78}\n/m).slice(1);
  const headings = parts.filter((_, at) => at % 2 === 0);
  expect(headings).toEqual(
    packages.map(({ name, version, license }) => `${name} ${version} (${license})`),
  );
  for (const text of parts.filter((_, at) => at % 2 === 1)) {
    expect(text).toMatch(/copyright/i);
    expect(text).toMatch(/provided ["'“]as is["'”]/i);
  }
});

test('the bill of materials has the same packages', async () => {
  const { code, stdout } = await runBuilt(['sbom']);
  expect(code).toBe(0);
  const { bomFormat, specVersion, components } = JSON.parse(stdout) as {
    bomFormat: string;
    specVersion: string;
    components: Listed[];
  };
  expect([bomFormat, specVersion]).toEqual(['CycloneDX', '1.6']);
  const short = ({ name, version }: Listed) => `${name} ${version}`;
  expect(components.map(short)).toEqual((await listed()).map(short));
});
