/**
 * The real Cilium: its agent, operator, CNI plugin and command line, built once from the
 * Go module proxy into the cache folder, beside the templates of its data path. Only the
 * soak builds it; `npm test` uses it where it is there already.
 *
 * Cilium is a main module, so its source is copied out of the module cache and built as
 * one. Two of its replacements are forks that not every proxy serves: the releases they
 * stem from take their place.
 */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isMain, say } from './checkout.mjs';
import { ensureGo } from './go.mjs';
import { buildOnce, builtFolder, goBuild } from './parts.mjs';
import { withProgress } from './progress.mjs';

export const ciliumVersion = '1.17.15';

/** As the checksum database (sum.golang.org) has it. */
const moduleSum = 'h1:Sf+MRwLolUQu8M6huRHSCGMUXXHTvHp1Sj21pAEMnME=';

/** Module, version, and what the checksum database says of it and of its go.mod. */
const replacements = [
  {
    module: 'k8s.io/apimachinery',
    version: 'v0.32.13',
    sum: 'h1:OQ1djPkMwU8F9BQwZUW314DdYsalB8hRvBgLRqimJdo=',
    modSum: 'h1:GpHVgxoKlTxClKcteaeuF1Ul/lDVb74KpZcxcmLDElE=',
  },
  {
    module: 'k8s.io/endpointslice',
    version: 'v0.32.2',
    sum: 'h1:WDkuguHeru23GBYhk43lBkho9szA9xryC1CewX0unz0=',
    modSum: 'h1:FReq7QSPlqZsC58rCoH7gIh7APQWwkXfF/7Tf+4IZ3s=',
  },
];

/**
 * A kernel built without modules has no /proc/modules, which the agent takes as fatal.
 * There it is an empty list, to which the built-in modules are added as everywhere.
 */
const overlay = {
  file: 'pkg/datapath/linux/modules/modules_linux.go',
  at: '	if err != nil {\n		return nil, fmt.Errorf(\n			"failed to open loaded',
  insert: '	if errors.Is(err, os.ErrNotExist) {\n		return nil, nil\n	}\n',
};

const parts = [
  { name: 'cilium-agent', package: './daemon', built: 'daemon' },
  { name: 'cilium-operator', package: './operator', built: 'operator' },
  { name: 'cilium-cni', package: './plugins/cilium-cni', built: 'cilium-cni' },
  { name: 'cilium-dbg', package: './cilium-dbg', built: 'cilium-dbg' },
];

const flags = [
  '-trimpath',
  // The generic operator, as Cilium's own Makefile makes it: without the clouds.
  '-tags=ipam_provider_operator',
  '-ldflags',
  `-s -w -X github.com/cilium/cilium/pkg/version.ciliumVersion=${ciliumVersion}`,
];

/** All that shapes the binaries. */
const inputs = [moduleSum, JSON.stringify([replacements, overlay, parts, flags])];

/**
 * The folder with cilium-agent, cilium-operator, cilium-cni, cilium-dbg and `bpf/`.
 * @returns {Promise<string>}
 */
export async function ensureCilium() {
  return buildOnce('cilium', inputs, build);
}

/**
 * The same folder if it was built before: nothing is fetched or built.
 * @returns {string | undefined}
 */
export function builtCilium() {
  const dir = builtFolder('cilium', inputs);
  return existsSync(dir) ? dir : undefined;
}

/** @param {string} dir */
async function build(dir) {
  const source = join(dir, 'source');
  await withProgress({ what: `fetching Cilium ${ciliumVersion}`, aboutSeconds: 60 }, async () =>
    copySource(await fetchModule(), source),
  );
  const patched = join(dir, 'modules_linux.go');
  const original = readFileSync(join(source, overlay.file), 'utf8');
  if (original.split(overlay.at).length !== 2) {
    throw new Error(`Cilium ${ciliumVersion}: the overlay does not fit ${overlay.file}`);
  }
  writeFileSync(patched, original.replace(overlay.at, `${overlay.insert}${overlay.at}`));
  const replaced = join(dir, 'overlay.json');
  writeFileSync(replaced, JSON.stringify({ Replace: { [join(source, overlay.file)]: patched } }));
  const withOverlay = [...flags, `-overlay=${replaced}`];
  await goBuild(dir, withOverlay, parts, 600, ['build', '-v'], source);
  for (const part of parts) renameSync(join(dir, part.built), join(dir, part.name));
  // The agent compiles its data path from these at every start.
  cpSync(join(source, 'bpf'), join(dir, 'bpf'), { recursive: true });
  for (const one of [source, patched, replaced]) rmSync(one, { recursive: true });
}

/** @returns {Promise<string>} the folder in the module cache, which is not written to */
async function fetchModule() {
  const go = await ensureGo();
  const answer = spawnSync(
    go.program,
    ['mod', 'download', '-json', `github.com/cilium/cilium@v${ciliumVersion}`],
    { env: { ...go.env, GOFLAGS: '-modcacherw' }, encoding: 'utf8', cwd: '/' },
  );
  /** @type {{ Dir?: string; Sum?: string; Error?: string }} */
  const told = answer.stdout ? JSON.parse(answer.stdout) : {};
  if (answer.status !== 0 || told.Dir === undefined) {
    throw new Error(
      `Cilium ${ciliumVersion} could not be fetched: ${told.Error ?? answer.stderr.trim()}`,
    );
  }
  if (told.Sum !== moduleSum) {
    throw new Error(`Cilium ${ciliumVersion} is not the one that is pinned: ${told.Sum}`);
  }
  return told.Dir;
}

/** @param {string} from @param {string} to */
async function copySource(from, to) {
  cpSync(from, to, { recursive: true });
  const go = await ensureGo();
  // The module cache is read-only, and so is a copy of it.
  spawnSync('chmod', ['-R', 'u+w', to]);
  const edits = replacements.map(
    ({ module, version }) => `-replace=${module}=${module}@${version}`,
  );
  const edited = spawnSync(go.program, ['mod', 'edit', ...edits], {
    cwd: to,
    env: go.env,
    encoding: 'utf8',
  });
  if (edited.status !== 0) throw new Error(`go mod edit failed: ${edited.stderr.trim()}`);
  const sums = replacements.flatMap(({ module, version, sum, modSum }) => [
    `${module} ${version} ${sum}`,
    `${module} ${version}/go.mod ${modSum}`,
  ]);
  appendFileSync(join(to, 'go.sum'), `${sums.join('\n')}\n`);
}

if (isMain(import.meta.url)) {
  try {
    process.stdout.write(`${await ensureCilium()}\n`);
  } catch (error) {
    say(`cilium: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
