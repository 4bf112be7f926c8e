/**
 * `npm run krew -- ADDRESS`: the package, and the manifest with which krew installs it as
 * `kubectl cadastre`, in artefacts/krew. The package is the archive: its program starts with
 * `#!/usr/bin/env node` and is the same on every platform.
 *
 * ADDRESS is where the archive will be fetched from. The manifest is not kept in the
 * repository: its sum is that of one archive.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir, isMain, say } from './checkout.mjs';
import { makePackage } from './package.mjs';

/**
 * @param {{ version: string; description: string; homepage?: string; engines: { node: string } }} manifest
 * @param {string} address
 * @param {string} sha256
 */
export function krewManifest({ version, description, homepage, engines }, address, sha256) {
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'cadastre' },
    spec: {
      version: `v${version}`,
      ...(homepage === undefined ? {} : { homepage }),
      shortDescription: 'Pod address blocks and BGP routes: who holds what, and is it true',
      description: `${description}

Shows nodes, pools and blocks; compares what is allocated, used, in the kernel, announced and in
the routers' tables (doctor); says who would lose the network before a node is drained (whatif).
Works read-only on any cluster, also one that runs plain Cilium.
`,
      caveats: `This plugin is a Node program: it needs Node ${engines.node} as \`node\` in your PATH.
Completion: put a link kubectl_complete-cadastre to the plugin into your PATH.
`,
      platforms: [
        {
          selector: {
            matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }],
          },
          uri: address,
          sha256,
          files: [{ from: 'package/*', to: '.' }],
          bin: 'dist/cadastre.mjs',
        },
      ],
    },
  };
}

/** @param {string | undefined} address */
async function makeKrew(address) {
  if (!address?.startsWith('https://')) {
    throw new Error(
      'usage: npm run krew -- https://WHERE-THE-ARCHIVE-WILL-BE/cadastre-VERSION.tgz',
    );
  }
  const manifest = JSON.parse(readFileSync(join(checkoutDir, 'package.json'), 'utf8'));
  const folder = join(checkoutDir, 'artefacts/krew');
  const archive = await makePackage(folder);
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex');
  const { stringify } = await import('yaml');
  const text = stringify(krewManifest(manifest, address, sha256), { blockQuote: 'literal' });
  writeFileSync(join(folder, 'cadastre.yaml'), text);
  say(`krew: ${folder}/cadastre.yaml and its archive`);
}

if (isMain(import.meta.url)) {
  try {
    await makeKrew(process.argv[2]);
  } catch (error) {
    say(`krew: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
