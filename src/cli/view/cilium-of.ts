import { CadastreError } from '../../base/errors.ts';
import type { Terminal } from '../terminal.ts';
import {
  type CiliumSource,
  ciliumAt,
  type NamedCilium,
  readCiliumSource,
  understood,
} from './cilium-settings.ts';
import type { IpamFlagValues } from './ipam-flags.ts';
import { type ClusterFlags, readFilesOf, withClient } from './view-flags.ts';

/** What --cilium-config names, in the cluster or among the files of --from; undefined without it. */
export async function ciliumOf(
  flags: ClusterFlags & Pick<IpamFlagValues, 'ciliumConfig'>,
  terminal: Terminal,
): Promise<NamedCilium | undefined> {
  if (flags.ciliumConfig === undefined) return undefined;
  const source = readCiliumSource(flags.ciliumConfig);
  if (source.kind === 'configMap' && flags.from !== undefined) {
    return savedCilium(flags.from, source, terminal);
  }
  return ciliumAt(source, (use) => withClient(flags, terminal, use));
}

async function savedCilium(
  from: readonly string[],
  { namespace, name }: CiliumSource & { kind: 'configMap' },
  terminal: Terminal,
): Promise<NamedCilium> {
  const where = `ConfigMap ${namespace}/${name}`;
  // Standard input is read once, and the objects in it are wanted too.
  const paths = from.filter((path) => path !== '-');
  const read = paths.length === 0 ? undefined : await readFilesOf(paths, {}, terminal);
  const found = [...(read?.items.configMaps ?? [])].find(
    (one) => one.namespace === namespace && one.name === name,
  );
  if (found?.cilium === undefined) {
    throw new CadastreError(
      'BAD_INPUT',
      `--cilium-config: ${where} is not in the files of --from`,
      {
        remedy:
          'Name a file: --cilium-config=FILE, with that ConfigMap or the Helm values of Cilium.',
      },
    );
  }
  return understood(where, found.cilium);
}
