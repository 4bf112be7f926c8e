/**
 * What is installed is what was looked at: every package has one version and the
 * hash of its archive, and none runs a program of its own when it is installed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  dev?: boolean;
  hasInstallScript?: boolean;
}
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
const lock = JSON.parse(read('package-lock.json')) as {
  lockfileVersion: number;
  packages: Record<string, LockedPackage & Record<string, unknown>>;
};
const { '': own, ...packages } = lock.packages;
const groups = ['dependencies', 'devDependencies', 'optionalDependencies'];

describe('package-lock.json', () => {
  test('every entry has the hash of its archive, and none comes from a place of its own', () => {
    expect(Object.keys(packages).length).toBeGreaterThan(100);
    const wrong = Object.entries(packages).filter(
      ([, { integrity = '', resolved }]) =>
        !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity) || resolved !== undefined,
    );
    expect(wrong).toEqual([]);
  });

  test('every dependency is one version, and the one that is locked', () => {
    for (const group of groups) {
      expect(own?.[group], group).toEqual(manifest[group]);
      for (const [name, version] of Object.entries(manifest[group] ?? {})) {
        expect(version, name).toMatch(/^\d+\.\d+\.\d+$/);
        expect(packages[`node_modules/${name}`]?.version, name).toBe(version);
      }
    }
  });
});

describe('installing', () => {
  test('runs no script of a package, whoever installs', () => {
    expect(read('.npmrc').split('\n')).toContain('ignore-scripts=true');
    for (const path of ['scripts/setup.mjs', 'deploy/Dockerfile']) {
      const calls = read(path).match(/npm ci.*|\['ci'.*/g) ?? [];
      const installs = calls.filter((call) => !call.startsWith('npm ci)'));
      expect(installs.length, path).toBeGreaterThan(0);
      for (const call of installs) expect(call, path).toContain('--ignore-scripts');
    }
  });

  test('of what is shipped only koffi has one, and does not need it', () => {
    const scripted = Object.entries(packages).filter(
      ([, { hasInstallScript }]) => hasInstallScript,
    );
    const shipped = scripted.filter(([, { dev }]) => !dev).map(([path]) => path);
    expect(shipped).toEqual(['node_modules/koffi']);
    // Its native part is a package of its own, for both kinds of machine that the image is for.
    for (const platform of ['linux-x64', 'linux-arm64']) {
      expect(packages[`node_modules/@koromix/koffi-${platform}`]?.integrity).toBeTruthy();
    }
  });

  test('koffi works as its archives are, with nothing built', () => {
    const require = createRequire(import.meta.url);
    expect(existsSync(join(root, 'node_modules/koffi/build'))).toBe(false);
    const koffi = require('koffi') as typeof import('koffi');
    expect(koffi.load(null).func('int getpid(void)')()).toBe(process.pid);
  });
});
