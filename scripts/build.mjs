/**
 * Bundles the command line into dist/cadastre.mjs, one file that runs alone on
 * Node 20.19 and newer, and the console's page into dist/console beside it.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { checkoutDir, isMain, say, secondsSince } from './checkout.mjs';
import { cliBundle, cliEntry, isCliStale } from './stale.mjs';

/** What every bundle of ours has in common. @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: checkoutDir,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  sourcemap: true,
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
  // Under another name first: whoever starts the old one now still gets a whole file.
  const unfinished = join(dirname(cliBundle), `.build-${process.pid}`);
  mkdirSync(unfinished, { recursive: true });
  try {
    const outfile = join(unfinished, 'cadastre.mjs');
    await build({
      ...common,
      entryPoints: [cliEntry],
      outfile,
      // Native, optional, and refused clearly where it is absent.
      external: ['koffi'],
      legalComments: 'eof',
      banner: { js: banner() },
    });
    const hasPage = await buildPage(join(unfinished, 'console'));
    chmodSync(outfile, 0o755);
    // What changes while we build is newer than this, and so makes it stale.
    utimesSync(outfile, startedAt, startedAt);
    const page = join(dirname(cliBundle), 'console');
    if (hasPage) mkdirSync(page, { recursive: true });
    for (const name of hasPage ? pageFiles : []) {
      renameSync(join(unfinished, 'console', name), join(page, name));
    }
    renameSync(`${outfile}.map`, `${cliBundle}.map`);
    renameSync(outfile, cliBundle);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  if (!options.quiet || performance.now() - start > 2000) {
    say(`build: dist/cadastre.mjs in ${secondsSince(start)}`);
  }
  return true;
}

const pageFiles = ['app.js', 'app.css', 'index.html'];

/** The console's page: everything it needs, and nothing to fetch elsewhere. @param {string} outdir */
async function buildPage(outdir) {
  const web = join(checkoutDir, 'src/console/web');
  if (!existsSync(web)) return false;
  await build({
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
  });
  copyFileSync(join(web, 'index.html'), join(outdir, 'index.html'));
  return true;
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
