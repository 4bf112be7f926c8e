/**
 * cnitool, the CNI project's own client on libcni: an outside judge of our
 * plugin. Built once by the Go module proxy into the cache folder.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir } from './checkout.mjs';

const version = 'v1.3.0';

/**
 * The path of the binary, or undefined without Go.
 * @returns {string | undefined}
 */
export function ensureCnitool() {
  const dir = join(cacheDir(), `cnitool-${version}-${process.arch}`);
  const binary = join(dir, 'cnitool');
  if (existsSync(binary)) return binary;
  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status !== 0) return undefined;
  mkdirSync(dir, { recursive: true });
  // `go install` writes elsewhere and renames: a binary that is there is whole.
  const made = spawnSync(
    'go',
    ['install', `github.com/containernetworking/cni/cnitool@${version}`],
    {
      cwd: dir,
      env: { ...process.env, GOBIN: dir, CGO_ENABLED: '0', GOFLAGS: '' },
      encoding: 'utf8',
    },
  );
  if (made.status !== 0) throw new Error(`cnitool could not be built:\n${made.stderr}`);
  return binary;
}
