/**
 * The CNI plugin of the host, cni/shim/cadastre-cni.c, as a static binary in
 * the cache folder. Never built at npm install: only a test, a bench or an
 * image needs it.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, checkoutDir, isMain, say } from './checkout.mjs';

const source = join(checkoutDir, 'cni/shim/cadastre-cni.c');
const strict = ['-std=gnu11', '-Wall', '-Wextra', '-Werror'];
const flags = ['-static', '-O2', '-s', ...strict];
/** musl first: its binary is a twentieth of glibc's, and starts sooner. */
const shipped = { compilers: ['musl-gcc', 'gcc', 'cc'], flags };
/** Of a machine of another kind, by its name in Node. @type {Record<string, string>} */
const crossCompilers = { x64: 'x86_64-linux-gnu-gcc', arm64: 'aarch64-linux-gnu-gcc' };
/** Ends at the first read or write that is not its own: for tests alone. */
const sanitized = {
  compilers: ['gcc', 'cc', 'clang'],
  flags: ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all', ...strict],
};

/**
 * The path of the binary, or undefined if there is no compiler.
 * @param {string} arch as Node names it
 * @returns {string | undefined}
 */
export function ensureShim(arch = process.arch) {
  if (arch === process.arch) return ensureBinary(shipped);
  return ensureBinary({ compilers: [crossCompilers[arch] ?? `${arch}-gcc`], flags });
}

/**
 * The same, with the sanitizers of the compiler; undefined if it has none.
 * @returns {string | undefined}
 */
export function ensureSanitizedShim() {
  try {
    return ensureBinary(sanitized);
  } catch {
    return undefined;
  }
}

/**
 * The Debian package whose C library is in the binary.
 * @param {string} arch as Node names it
 */
export function shimLibrary(arch) {
  if (arch !== process.arch) return `libc6-dev-${arch === 'x64' ? 'amd64' : arch}-cross`;
  return findCompiler(shipped.compilers) === 'musl-gcc' ? 'musl-dev' : 'libc6-dev';
}

/** @param {string[]} compilers */
function findCompiler(compilers) {
  return compilers.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
}

/** @param {{ compilers: string[], flags: string[] }} build */
function ensureBinary({ compilers, flags }) {
  const compiler = findCompiler(compilers);
  if (compiler === undefined) return undefined;
  const hash = createHash('sha256')
    .update([compiler, process.arch, ...flags].join('\0'))
    .update(readFileSync(source));
  const dir = join(cacheDir(), 'shim', hash.digest('hex').slice(0, 16));
  const binary = join(dir, 'cadastre');
  if (existsSync(binary)) return binary;
  mkdirSync(dir, { recursive: true });
  // Under another name first: whoever looks meanwhile finds nothing or all of it.
  const unfinished = `${binary}.${process.pid}`;
  const made = spawnSync(compiler, [...flags, '-o', unfinished, source], { encoding: 'utf8' });
  if (made.status !== 0) {
    rmSync(unfinished, { force: true });
    throw new Error(`${compiler} could not build ${source}:\n${made.stderr}`);
  }
  renameSync(unfinished, binary);
  return binary;
}

if (isMain(import.meta.url)) {
  const binary = ensureShim();
  if (binary !== undefined) process.stdout.write(`${binary}\n`);
  else {
    say(`shim: no C compiler (${shipped.compilers.join(', ')}): install one, like musl-tools`);
    process.exitCode = 1;
  }
}
