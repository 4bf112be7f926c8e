/** What krew installs `kubectl cadastre` by. */
export function krewManifest(
  manifest: { version: string; description: string; homepage?: string; engines: { node: string } },
  address: string,
  sha256: string,
): object;
