/**
 * The network configuration that `cadastre cni install` writes: which versions of CNI it
 * names, and which plugins are in the chain.
 *
 * A runtime uses the highest version of `cniVersions` that it knows. One that does not know
 * the list (containerd 1.x) uses `cniVersion`, and fails with a version that it does not know.
 * So `cniVersion` is the highest that every runtime of today knows, and a higher one stands in
 * the list, only if every plugin of the chain has said that it knows it.
 */
import { type CniVersion, supportedVersions } from '../cni/cni-call.ts';

export const conflistName = '10-cadastre.conflist';

/** Higher ones are not known to containerd 1.6 and 1.7. */
const highestEverywhere = '1.0.0';

/** How portmap was found in the folder of plugins. `versions` is undefined if it did not say. */
export type FoundPortmap = { isThere: false } | { isThere: true; versions?: readonly string[] };

export interface ConflistChoice {
  cniVersion: CniVersion;
  /** Beyond `cniVersion`, for runtimes that can choose. */
  alsoVersion?: CniVersion;
  hasPortmap: boolean;
  /** For whoever reads the log of the installation. */
  why: string;
}

export function chooseConflist(portmap: FoundPortmap, asked?: CniVersion): ConflistChoice {
  if (asked !== undefined) {
    const why = `CNI ${asked}, as --cni-version says`;
    return { cniVersion: asked, hasPortmap: portmap.isThere, why: `${why}${without(portmap)}` };
  }
  const highest = chosen(supportedVersions);
  if (!portmap.isThere) return { ...highest, hasPortmap: false, why: words(highest, portmap) };
  if (portmap.versions === undefined) {
    const why = `CNI ${highestEverywhere}: portmap does not say which versions it knows`;
    return { cniVersion: highestEverywhere, hasPortmap: true, why };
  }
  const known = supportedVersions.filter((version) => portmap.versions?.includes(version));
  if (known.length === 0) {
    const why = `portmap is left out, because it knows none of CNI ${supportedVersions.join(', ')}`;
    return { ...highest, hasPortmap: false, why };
  }
  const both = chosen(known);
  return { ...both, hasPortmap: true, why: words(both, portmap) };
}

function chosen(known: readonly CniVersion[]): Pick<ConflistChoice, 'cniVersion' | 'alsoVersion'> {
  const low = known.filter((version) => version <= highestEverywhere).at(-1);
  const high = known.at(-1)!;
  if (low === undefined || low === high) return { cniVersion: high };
  return { cniVersion: low, alsoVersion: high };
}

function words(
  { cniVersion, alsoVersion }: Pick<ConflistChoice, 'cniVersion' | 'alsoVersion'>,
  portmap: FoundPortmap,
): string {
  const also = alsoVersion === undefined ? '' : `, and ${alsoVersion} for runtimes that know it`;
  const limit = alsoVersion === undefined && portmap.isThere ? ', the highest of portmap' : '';
  return `CNI ${cniVersion}${also}${limit}${without(portmap)}`;
}

function without({ isThere }: FoundPortmap): string {
  return isThere ? '' : '; without portmap, so a hostPort of a container has no effect';
}

/** The file, to the octet: by it we know one that we wrote from one that somebody edited. */
export function conflistText({
  cniVersion,
  alsoVersion,
  hasPortmap,
}: Omit<ConflistChoice, 'why'>): string {
  const plugins = ['    { "type": "cadastre" }'];
  if (hasPortmap) {
    plugins.push('    { "type": "portmap", "capabilities": { "portMappings": true } }');
  }
  const lines = [
    `  "cniVersion": "${cniVersion}"`,
    ...(alsoVersion === undefined ? [] : [`  "cniVersions": ["${cniVersion}", "${alsoVersion}"]`]),
    '  "name": "pods"',
    `  "plugins": [\n${plugins.join(',\n')}\n  ]`,
  ];
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** Whether this is what some version of us writes, unchanged. */
export function isOurConflist(text: string): boolean {
  return everyText.has(text);
}

const everyText: ReadonlySet<string> = new Set(
  supportedVersions.flatMap((cniVersion) =>
    [undefined, ...supportedVersions.filter((other) => other > cniVersion)].flatMap((alsoVersion) =>
      [true, false].map((hasPortmap) =>
        conflistText({ cniVersion, hasPortmap, ...(alsoVersion && { alsoVersion }) }),
      ),
    ),
  ),
);
