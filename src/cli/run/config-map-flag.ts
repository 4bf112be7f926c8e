import { CadastreError } from '../../base/errors.ts';

/** `--bgp-config-map=kube-system/bgp-config`. */
export function readConfigMapName(
  text: string | undefined,
): { namespace: string; name: string } | undefined {
  if (text === undefined) return undefined;
  const [namespace, name, ...more] = text.split('/');
  if (namespace && name && more.length === 0) return { namespace, name };
  throw new CadastreError('BAD_FLAG', `--bgp-config-map=${text} is not namespace/name`);
}
