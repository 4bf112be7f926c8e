/**
 * Bundles the command line into dist, which runs alone on Node 20.19 and newer:
 * cadastre.mjs, beside it the parts that it loads when a command needs them, and
 * the console's page in dist/console.
 *
 * In parts, because Node keeps the text of what it has loaded: an agent on every
 * node of a cluster need not carry the doctor and the lab in its memory.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { checkoutDir, isMain, say, secondsSince } from './checkout.mjs';
import { cliBundle, cliEntry, isCliStale } from './stale.mjs';
import { thirdPartyFiles } from './third-party.mjs';

const dist = dirname(cliBundle);

/** What every bundle of ours has in common. @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: checkoutDir,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  sourcemap: true,
  // A place in the source is told without its text, which is two thirds of a package.
  sourcesContent: false,
  logLevel: 'warning',
};

/**
 * @param {{ quiet?: boolean }} options
 * @returns {Promise<boolean>} whether there is a command line to run
 */
export async function buildCli(options = {}) {
  if (!existsSync(cliEntry)) {
    if (!options.quiet) say('build: nothing to build: there is no src/cli/main.ts yet');
    return false;
  }
  if (!isCliStale()) {
    if (!options.quiet) say('build: dist/cadastre.mjs is up to date');
    return true;
  }
  const start = performance.now();
  const startedAt = new Date();
  const files = await bundleCli();
  // The program last: whoever starts it finds all its parts.
  const isProgram = (/** @type {string} */ path) => path === 'cadastre.mjs';
  for (const { path, contents } of files.sort(
    (a, b) => Number(isProgram(a.path)) - Number(isProgram(b.path)),
  )) {
    const how = isProgram(path) ? { mode: 0o755, time: startedAt } : {};
    writeWhole(join(dist, path), contents, how);
  }
  removeOldParts(startedAt);
  if (!options.quiet || performance.now() - start > 2000) {
    say(`build: dist/cadastre.mjs in ${secondsSince(start)}`);
  }
  return true;
}

/**
 * All files of dist, by their path there. Nothing is written.
 * @returns {Promise<Array<{ path: string; contents: Uint8Array }>>}
 */
export async function bundleCli() {
  const program = await build({
    ...common,
    entryPoints: { cadastre: cliEntry },
    outdir: dist,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    chunkNames: 'part-[name]-[hash]',
    // Comments are a third of the text, and one letter beyond Latin doubles all of it in memory.
    minifyWhitespace: true,
    // An uncaught error shows the line that it came from.
    lineLimit: 160,
    // Native, optional, and refused clearly where it is absent.
    external: ['koffi'],
    legalComments: 'eof',
    banner: { js: banner() },
    metafile: true,
    write: false,
  });
  const page = await buildPage(join(dist, 'console'));
  const inputs = [...Object.keys(program.metafile.inputs), ...page.inputs];
  const built = [...program.outputFiles, ...page.files].map(({ path, contents }) => ({
    path: relative(dist, path),
    contents,
  }));
  return [...built, ...thirdPartyFiles(inputs)];
}

/**
 * Under another name first: whoever reads the old one now still gets a whole file.
 * @param {string} path
 * @param {Uint8Array} contents
 * @param {{ mode?: number, time?: Date }} options
 */
function writeWhole(path, contents, { mode = 0o644, time }) {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, contents, { mode });
  // What changes while we build is newer than this, and so makes it stale.
  if (time !== undefined) utimesSync(unfinished, time, time);
  renameSync(unfinished, path);
}

/**
 * Not those of the last day: a process of an older build may still load one.
 * @param {Date} now
 */
function removeOldParts(now) {
  for (const name of readdirSync(dist).filter((one) => one.startsWith('part-'))) {
    const path = join(dist, name);
    const age = now.getTime() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (age > 86_400_000) rmSync(path, { force: true });
  }
}

/**
 * The console's page: everything it needs, and nothing to fetch elsewhere.
 * @param {string} outdir
 */
async function buildPage(outdir) {
  const web = join(checkoutDir, 'src/console/web');
  if (!existsSync(web)) return { files: [], inputs: [] };
  const { outputFiles, metafile } = await build({
    absWorkingDir: checkoutDir,
    entryPoints: [
      { in: join(web, 'main.tsx'), out: 'app' },
      { in: join(web, 'app.css'), out: 'app' },
    ],
    outdir,
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    legalComments: 'eof',
    logLevel: 'warning',
    metafile: true,
    write: false,
  });
  const index = {
    path: join(outdir, 'index.html'),
    contents: readFileSync(join(web, 'index.html')),
  };
  return { files: [...outputFiles, index], inputs: Object.keys(metafile.inputs) };
}

/** Bundled CommonJS packages call require() for Node's own modules; ESM has none. */
function banner() {
  const require =
    "import { createRequire as createRequireOfBundle } from 'node:module';\nconst require = createRequireOfBundle(import.meta.url);";
  const hasShebang = readFileSync(cliEntry, 'utf8').startsWith('#!');
  return hasShebang ? require : `#!/usr/bin/env node\n${require}`;
}

/**
 * A bench or soak as a file Node can run. Packages stay outside: the file lies
 * in the checkout and finds them.
 * @param {string} entry
 * @param {string} outfile
 */
export async function buildProgram(entry, outfile) {
  await build({ ...common, entryPoints: [entry], outfile, packages: 'external' });
}

if (isMain(import.meta.url)) await buildCli();
