import { CadastreError } from '../../base/errors.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { ClusterNode } from '../../model/node.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import { familyBits } from '../../net/family.ts';
import { Prefix, parsePrefix, prefixProblem } from '../../net/prefix.ts';
import type { Register } from '../../plan/blocks/register.ts';

/** What a person points at with one word. */
export type ExplainTarget =
  | { kind: 'node'; node: ClusterNode }
  | { kind: 'pool'; pool: Pool }
  | { kind: 'prefix'; prefix: Prefix; address?: Address };

/**
 * A CIDR and an address are known by their form; a name is looked for among
 * nodes, pools and NodeBlocks. `node/x`, `pool/x` and `block/x` say which. Undefined:
 * it is none of these.
 */
export function findTarget(register: Register, text: string): ExplainTarget | undefined {
  const [, kind, name] = /^(node|pool|block)\/(.+)$/.exec(text) ?? [];
  if (kind === undefined || name === undefined) {
    const target = readPrefixTarget(text);
    if (target !== undefined) return target;
  }
  const wanted = name ?? text;
  const node = kind === undefined || kind === 'node' ? register.nodes.get(wanted) : undefined;
  const pool = kind === undefined || kind === 'pool' ? register.poolSet.get(wanted) : undefined;
  const block = kind === undefined || kind === 'block' ? register.blocks.get(wanted) : undefined;
  if (node !== undefined && pool !== undefined) {
    throw new CadastreError('BAD_USAGE', `"${text}" is a node and a pool`, {
      remedy: `Say node/${text} or pool/${text}.`,
    });
  }
  if (node !== undefined) return { kind: 'node', node };
  if (pool !== undefined) return { kind: 'pool', pool };
  if (block !== undefined) return { kind: 'prefix', prefix: block.prefix };
  // No name has these forms, so it was meant as an address; with what is wrong it is found sooner.
  if (kind === undefined && /^[\d.]+$|^[\d./]+\/\d+$|^[\da-f:.]*:[\da-f:./]*$/i.test(text)) {
    const problem = text.includes('/') ? prefixProblem(text) : undefined;
    throw new CadastreError('BAD_USAGE', problem ?? `"${text}" is not an IPv4 or IPv6 address`);
  }
  return undefined;
}

export function refuseName(text: string): never {
  const [, kind, name] = /^(node|pool|block|pod|service|router)\/(.+)$/.exec(text) ?? [];
  const what = kind ?? 'node, pool, block, pod, Service or router';
  throw new CadastreError('BAD_INPUT', `there is no ${what} called "${name ?? text}"`, {
    remedy: 'Names are listed by cadastre nodes, pools and blocks with -o name.',
  });
}

function readPrefixTarget(text: string): ExplainTarget | undefined {
  const address = parseAddress(text);
  if (address !== undefined) {
    return { kind: 'prefix', prefix: Prefix.of(address, familyBits(address.family)), address };
  }
  const prefix = parsePrefix(text);
  if (prefix === undefined) return undefined;
  const problem = prefixProblem(text);
  if (problem === undefined) return { kind: 'prefix', prefix };
  throw new CadastreError('BAD_USAGE', problem);
}
