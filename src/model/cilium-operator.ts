import type { KubeObject } from './object.ts';

/**
 * The Deployment `cilium-operator`, as far as allocating goes. Its flag wins over
 * cilium-config, which its agents read too: with `--ipam=kubernetes` it keeps all its
 * other duties and gives out no blocks, whatever mode the agents are in.
 */
export interface CiliumOperator {
  /** It is not scaled to 0. */
  runs: boolean;
  /** `--ipam`; absent: what cilium-config says. */
  ipam?: string;
}

export const ciliumOperatorName = 'cilium-operator';

export function readCiliumOperator({ spec }: KubeObject): CiliumOperator {
  const { replicas, template } = (spec ?? {}) as {
    replicas?: unknown;
    template?: { spec?: { containers?: unknown } | null } | null;
  };
  const containers = template?.spec?.containers;
  const words = (Array.isArray(containers) ? containers : []).flatMap((one) =>
    [one?.command, one?.args].flatMap((list) => (Array.isArray(list) ? list : [])),
  );
  const ipam = ipamFlag(words.filter((word): word is string => typeof word === 'string'));
  return { runs: replicas !== 0, ...(ipam === undefined ? {} : { ipam }) };
}

/** The last one counts, as `--ipam=MODE` or `--ipam MODE`. */
function ipamFlag(words: readonly string[]): string | undefined {
  let found: string | undefined;
  words.forEach((word, at) => {
    if (word.startsWith('--ipam=')) found = word.slice('--ipam='.length);
    else if (word === '--ipam') found = words[at + 1];
  });
  return found;
}
