/**
 * A list of components as CycloneDX 1.6 (ECMA-424). It has no time and no invented address:
 * the same program gives the same document.
 */
import type { Component } from './components.ts';

export function cycloneDx(version: string, components: readonly Component[]): object {
  const own = { name: 'cadastre', version, license: 'Apache-2.0', origin: 'npm' } as const;
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...describe(own), type: 'application' } },
    components: components.map(describe),
    dependencies: [{ ref: purlOf(own), dependsOn: components.map(purlOf) }],
  };
}

function describe(component: Component): object {
  const { name, version, license, origin } = component;
  const purl = purlOf(component);
  return {
    type: origin === 'node' ? 'application' : 'library',
    'bom-ref': purl,
    name,
    version,
    // Debian's names of licences are not those of SPDX.
    licenses: [
      { license: origin !== 'debian' && isSpdxId(license) ? { id: license } : { name: license } },
    ],
    // What scanners look for in lists of vulnerabilities.
    ...(origin === 'node' && { cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` }),
    purl,
  };
}

/** The few that our packages have; another one is given by name. */
function isSpdxId(license: string): boolean {
  return ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'].includes(license);
}

/** https://github.com/package-url/purl-spec */
function purlOf({ name, version, origin, architecture }: Component): string {
  const at = encodeURIComponent(version);
  const path = name.split('/').map(encodeURIComponent).join('/');
  if (origin === 'npm') return `pkg:npm/${path}@${at}`;
  if (origin === 'debian') return `pkg:deb/debian/${path}@${at}?arch=${architecture}`;
  return `pkg:generic/${path}@${at}`;
}
