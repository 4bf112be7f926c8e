import { families, familyBits } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import { type Claimants, sideBySide } from './claimants.ts';
import { type DoctorFinding, finding, hurtsIf, hurtsNow } from './finding.ts';
import { routeFix } from './fixes.ts';
import type { RoutedPrefix } from './route-view.ts';
import { isAddressOf, type Survey } from './survey.ts';

/**
 * Routes that are nobody's block: what a node announces without owning it
 * (Orphan, or UnknownPrefix where it is no pod address at all), and what leads
 * to nobody (Stale). Routes that have nothing to do with the cluster are left
 * alone: a router holds many.
 */
export function judgeStrays(survey: Survey, claimants: Claimants): DoctorFinding[] {
  const space = new ClusterSpace(survey, claimants);
  const strays = new Map<string, { stray: Stray; routed: RoutedPrefix }>();
  for (const view of survey.views) {
    for (const routed of view.routes.values()) {
      if (survey.owners.has(routed.key)) continue;
      for (const stray of straysOf(survey, space, routed)) {
        const id = `${stray.reason} ${stray.node ?? ''} ${routed.key}`;
        if (!strays.has(id)) strays.set(id, { stray, routed });
      }
    }
  }
  return [...strays.values()].map(({ stray, routed }) => {
    const { prefix, key } = routed;
    const views = survey.views.filter((view) => view.families.has(prefix.family));
    const says = sideBySide(claimants, views, prefix, key);
    const fix = routeFix(survey, stray.reason, { ...stray, prefix: key });
    return finding(stray.reason, stray.severity, { ...stray, prefix: key, says, fix });
  });
}

/** A finding but for what it says and its cure. */
type Stray = Omit<DoctorFinding, 'prefix' | 'says' | 'fix'>;

function straysOf(survey: Survey, space: ClusterSpace, routed: RoutedPrefix): Stray[] {
  const { prefix, key, paths } = routed;
  const found: Stray[] = [];
  const around = survey.claims.overlapping(prefix).map(({ owner }) => survey.blocks[owner]!);
  const holder = around.find((block) => block.prefix.contains(prefix));
  for (const { hop, isUsed } of paths) {
    if (hop.kind === 'router' || hop.kind === 'own' || hop.kind === 'unseen') continue;
    if (holder !== undefined) {
      // A part of somebody's block: the more specific route takes the traffic.
      if (hop.kind === 'node' && hop.node === holder.node) continue;
      if (!isUsed) continue;
      const owner = holder.node;
      found.push(
        hop.kind === 'node'
          ? {
              reason: 'Detour',
              severity: 'warning',
              node: hop.node,
              owner,
              hurts: hurtsIf(`drain ${hop.node}`, [owner], key),
            }
          : {
              reason: 'WrongNextHop',
              severity: 'critical',
              node: owner,
              owner,
              hurts: hurtsNow(owner),
            },
      );
      continue;
    }
    const isOurs = space.isOurs(prefix, key);
    const owner = survey.former.get(key) ?? null;
    if (hop.kind === 'unknown') {
      if (isOurs && around.length === 0) {
        found.push({ reason: 'Stale', severity: 'warning', node: null, owner, hurts: later(key) });
      }
      continue;
    }
    const { node } = hop;
    if (isOurs && around.length === 0) {
      found.push({ reason: 'Orphan', severity: 'warning', node, owner, hurts: later(key) });
    } else if (!isService(survey, prefix, node) && prefix.length > 0) {
      found.push({
        reason: 'UnknownPrefix',
        // It draws in traffic for blocks of others as soon as their own routes are gone.
        severity: around.some((block) => block.node !== node) ? 'warning' : 'info',
        node,
        owner: null,
        hurts: hurtsNow(),
      });
    }
  }
  return found;
}

const later = (key: string) => hurtsIf(`${key} is given to a node`, [], key);

/** Addresses of Services and of the node itself are announced by right. */
export function isService(survey: Survey, prefix: Prefix, name: string): boolean {
  const { loadBalancerNetworks, serviceNetworks } = survey.evidence;
  if (loadBalancerNetworks.some((network) => network.overlaps(prefix))) return true;
  if (serviceNetworks.some((network) => network.prefix.overlaps(prefix))) return true;
  const surveyed = survey.nodes.get(name);
  if (surveyed === undefined || prefix.length < familyBits(prefix.family)) return false;
  return isAddressOf(surveyed, prefix.first().toString());
}

/**
 * Is a prefix the cluster's? In a CIDR of the pools, or named by some record. Where
 * no pool is known (mode kubernetes: the range is a flag of
 * kube-controller-manager) a prefix of the blocks' size in their neighbourhood
 * counts as well.
 */
class ClusterSpace {
  readonly #space: PrefixSet;
  readonly #claimants: Claimants;
  readonly #lengths: ReadonlySet<string> | undefined;
  readonly #former: Survey['former'];

  constructor({ poolSpace, blocks, former }: Survey, claimants: Claimants) {
    this.#claimants = claimants;
    this.#former = former;
    if (poolSpace !== undefined) {
      this.#space = poolSpace;
      return;
    }
    this.#lengths = new Set(blocks.map(({ prefix }) => `${prefix.family}/${prefix.length}`));
    const around = families.flatMap((family) =>
      blocks
        .filter(({ prefix }) => prefix.family === family)
        .map(({ prefix }) => prefix.parent(Math.max(prefix.length - neighbourhoodBits, 0))),
    );
    this.#space = PrefixSet.of(around);
  }

  isOurs(prefix: Prefix, key: string): boolean {
    if (this.#former.has(key)) return true;
    if (this.#claimants.has(key) && !isOnlyAnnounced(this.#claimants, key)) return true;
    const isAlike = this.#lengths?.has(`${prefix.family}/${prefix.length}`) ?? true;
    return isAlike && this.#space.covers(prefix);
  }
}

const neighbourhoodBits = 8;

function isOnlyAnnounced(claimants: Claimants, key: string): boolean {
  const records = claimants.get(key);
  return records?.size === 1 && records.has('announced');
}
