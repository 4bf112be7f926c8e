import { LineCounter } from 'yaml';
import { CadastreError } from '../../base/errors.ts';
import { readYamlDocuments } from '../../base/read-yaml.ts';
import { fileFault, readTextFile } from '../../base/text-file.ts';
import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import {
  type CiliumSettings,
  ciliumConfigName,
  readCiliumConfig,
} from '../../model/cilium-config.ts';
import { configOfValues, isCiliumValues } from '../../model/cilium-values.ts';
import type { KubeObject } from '../../model/object.ts';
import { configMaps } from '../../model/resources.ts';
import { yamlFault } from '../../model/yaml-fault.ts';

/** What `--cilium-config` names: a ConfigMap of the cluster, or a file. */
export type CiliumSource =
  | { kind: 'configMap'; namespace: string; name: string }
  | { kind: 'file'; path: string };

/** Cilium's settings, and where they stand, for messages. */
export interface NamedCilium {
  settings: CiliumSettings;
  where: string;
}

/** `NAMESPACE/NAME` is an object; what ends like a file, or cannot be such a name, is a file. */
export function readCiliumSource(flag: string | true): CiliumSource {
  if (flag === true) {
    return { kind: 'configMap', namespace: 'kube-system', name: ciliumConfigName };
  }
  const match = /^([a-z0-9][-a-z0-9]*)\/([a-z0-9][-.a-z0-9]*)$/.exec(flag);
  if (match === null || /\.(ya?ml|json)$/.test(flag)) return { kind: 'file', path: flag };
  return { kind: 'configMap', namespace: match[1]!, name: match[2]! };
}

/** Only a ConfigMap needs a cluster. */
export async function ciliumAt(
  source: CiliumSource,
  withClient: (use: (client: KubeClient) => Promise<NamedCilium>) => Promise<NamedCilium>,
): Promise<NamedCilium> {
  if (source.kind === 'file') return readCiliumFile(source.path);
  return withClient((client) => fetchCiliumConfig(client, source));
}

async function fetchCiliumConfig(
  client: Pick<KubeClient, 'get'>,
  { namespace, name }: { namespace: string; name: string },
): Promise<NamedCilium> {
  const where = `ConfigMap ${namespace}/${name}`;
  try {
    const object = await client.get<KubeObject>(configMaps, name, { namespace });
    return understood(where, readCiliumConfig(object));
  } catch (error) {
    if (!(error instanceof ApiError) || !(error.isNotFound || error.isForbidden)) throw error;
    const what = error.isNotFound ? 'there is no such object' : 'it may not be read (forbidden)';
    throw new CadastreError('BAD_INPUT', `--cilium-config: ${where}: ${what}`, {
      remedy: error.isNotFound
        ? 'Name it: --cilium-config=NAMESPACE/NAME, or a file with it or with the Helm values.'
        : `Allow "get" of configmaps, resourceNames [${name}], in the namespace ${namespace}.`,
    });
  }
}

/** A ConfigMap, a list that has it, or the Helm values of Cilium; YAML or JSON. */
export function readCiliumFile(path: string): NamedCilium {
  const values = documentsOf(path);
  const objects = values.flatMap((value) => {
    const { items } = (value ?? {}) as { items?: unknown };
    return Array.isArray(items) ? items : [value];
  }) as Array<KubeObject | undefined>;
  const maps = objects.filter((one) => one?.kind === 'ConfigMap');
  const map = maps.find((one) => one?.metadata?.name === ciliumConfigName) ?? maps[0];
  if (map !== undefined) return understood(path, readCiliumConfig(map));
  const helm = values.find(isCiliumValues);
  if (helm !== undefined) return understood(path, readCiliumConfig(configOfValues(helm)));
  throw badFile(path, `neither the ConfigMap ${ciliumConfigName} nor Helm values with "ipam"`);
}

function documentsOf(path: string): unknown[] {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (error) {
    throw badFile(path, fileFault(error));
  }
  return [...readYamlDocuments(text, new LineCounter())].map(({ document, value }) => {
    const [error] = document.errors;
    if (error !== undefined) throw badFile(path, `not YAML or JSON: ${yamlFault(error)}`);
    return value();
  });
}

/** A setting that was not understood would count as its default: another pool, other families. */
export function understood(where: string, settings: CiliumSettings): NamedCilium {
  if (settings.problems.length === 0) return { settings, where };
  throw new CadastreError(
    'BAD_INPUT',
    `--cilium-config: ${where}: ${settings.problems.join('; ')}`,
  );
}

function badFile(path: string, what: string): CadastreError {
  return new CadastreError('BAD_INPUT', `--cilium-config=${path}: ${what}`, {
    remedy:
      'Give kubectl -n kube-system get configmap cilium-config -o yaml, or the Helm values of Cilium.',
  });
}
