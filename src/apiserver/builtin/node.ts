/**
 * Nodes. Their pod networks go from nothing to a value once, in one write, and
 * never change; `podCIDR` is only the first of `podCIDRs` seen through older
 * glasses, and wins where the two disagree.
 */
import { isIPv4 } from 'node:net';
import { prefixProblem } from '../../net/prefix.ts';
import { type ApiObject, type Fields, isEqual } from '../object.ts';
import { type KindRules, keepSpec } from '../resource.ts';
import { isCidr } from '../schema/formats.ts';
import { type Fault, faults } from '../status.ts';

export const nodeRules: KindRules = {
  prepareCreate: (node) => settlePodCidrs(node),
  prepareUpdate: (node) => settlePodCidrs(node),
  prepareStatus: keepSpec,
  validate: (node, old) => {
    const found = podCidrFaults(podCidrsOf(node));
    const before = old === undefined ? [] : podCidrsOf(old);
    if (before.length > 0 && !isEqual(before, podCidrsOf(node))) {
      found.push(
        faults.forbidden(
          'spec.podCIDRs',
          'node updates may not change podCIDR except from "" to valid',
        ),
      );
    }
    return found;
  },
};

function podCidrsOf(node: ApiObject): string[] {
  return ((node.spec as Fields | undefined)?.podCIDRs ?? []) as string[];
}

function settlePodCidrs(node: ApiObject): void {
  const spec = (node.spec ?? {}) as { podCIDR?: string; podCIDRs?: string[] };
  const first = spec.podCIDR ?? '';
  if (first !== '' && spec.podCIDRs?.[0] !== first) spec.podCIDRs = [first];
  if (spec.podCIDRs?.length) spec.podCIDR = spec.podCIDRs[0] as string;
  else {
    delete spec.podCIDR;
    delete spec.podCIDRs;
  }
  node.spec = spec;
  node.status ??= {};
}

function podCidrFaults(cidrs: string[]): Fault[] {
  const found: Fault[] = [];
  for (const [at, cidr] of cidrs.entries()) {
    const field = `spec.podCIDRs[${at}]`;
    if (!isCidr(cidr)) {
      found.push(
        faults.invalid(
          field,
          cidr,
          'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        ),
      );
    } else if (prefixProblem(cidr) !== undefined) {
      found.push(faults.invalid(field, cidr, 'must not have bits set beyond the prefix length'));
    }
  }
  if (found.length === 0 && cidrs.length > 1) {
    const families = new Set(cidrs.map((cidr) => isIPv4(cidr.split('/')[0] as string)));
    if (cidrs.length > 2 || families.size < cidrs.length) {
      found.push(
        faults.invalid(
          'spec.podCIDRs',
          cidrs,
          'may specify no more than one CIDR for each IP family',
        ),
      );
    }
  }
  return found;
}
