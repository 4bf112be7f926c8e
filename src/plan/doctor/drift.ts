import { addToGroup } from '../../base/add-to-group.ts';
import { driftConditionType } from '../../model/keys.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Condition } from '../../model/object.ts';
import { dated } from '../pools/pool-conditions.ts';
import { type DoctorFinding, severities } from './finding.ts';

/**
 * What stays wrong. A finding counts when two passes in a row have made it; one
 * that is gone once is cured.
 */
export class DriftRecord {
  #seenOnce = new Map<string, DoctorFinding>();
  #standing = new Map<string, DoctorFinding>();

  get hasUnconfirmed(): boolean {
    return this.#seenOnce.size > 0;
  }

  take(findings: readonly DoctorFinding[]): { fresh: DoctorFinding[]; cured: DoctorFinding[] } {
    const now = new Map(findings.map((finding) => [keyOf(finding), finding]));
    const fresh: DoctorFinding[] = [];
    const standing = new Map<string, DoctorFinding>();
    const seenOnce = new Map<string, DoctorFinding>();
    for (const [key, finding] of now) {
      if (this.#standing.has(key)) standing.set(key, finding);
      else if (this.#seenOnce.has(key)) {
        standing.set(key, finding);
        fresh.push(finding);
      } else seenOnce.set(key, finding);
    }
    const cured = [...this.#standing].filter(([key]) => !now.has(key)).map(([, one]) => one);
    this.#standing = standing;
    this.#seenOnce = seenOnce;
    return { fresh, cured };
  }

  /** What two passes in a row have found, in the order of the judgement. */
  standing(): DoctorFinding[] {
    return [...this.#standing.values()];
  }

  reasons(): string[] {
    return [...this.counts().keys()];
  }

  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { reason } of this.#standing.values()) {
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    return counts;
  }

  /** By the node that each is about; those about nobody are left out. */
  byNode(): Map<string, DoctorFinding[]> {
    const found = new Map<string, DoctorFinding[]>();
    for (const finding of this.#standing.values()) {
      const name = finding.node ?? finding.owner;
      if (name === null) continue;
      addToGroup(found, name, finding);
    }
    return found;
  }
}

/** The same fault at the same place, whatever its records say meanwhile. */
export function keyOf({ reason, node, prefix, owner }: DoctorFinding): string {
  return [reason, node, prefix, owner].join(' ');
}

const mostInMessage = 3;

/** Conditions that must change. A node that never drifted has none, and costs no write. */
export function conditionWrites(
  nodes: Iterable<ClusterNode>,
  byNode: ReadonlyMap<string, readonly DoctorFinding[]>,
  nowText: string,
): Array<{ node: string; condition: Condition }> {
  const writes: Array<{ node: string; condition: Condition }> = [];
  for (const { name, drift } of nodes) {
    const found = byNode.get(name) ?? [];
    if (found.length === 0 && drift?.status !== 'True') continue;
    const wanted = found.length === 0 ? noDrift : driftCondition(found);
    const isSame =
      drift?.status === wanted.status &&
      drift.reason === wanted.reason &&
      drift.message === wanted.message;
    if (isSame) continue;
    const condition = dated(wanted, drift === undefined ? [] : [drift], nowText);
    writes.push({ node: name, condition });
  }
  return writes;
}

const noDrift: Omit<Condition, 'lastTransitionTime'> = {
  type: driftConditionType,
  status: 'False',
  reason: 'NoDrift',
  message: 'what is allocated, used and announced agrees',
};

function driftCondition(findings: readonly DoctorFinding[]): Omit<Condition, 'lastTransitionTime'> {
  const worst = [...findings].sort(
    (a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity),
  );
  const more = worst.length - mostInMessage;
  const words = worst.slice(0, mostInMessage).map((one) => `${one.reason}: ${driftWords(one)}`);
  return {
    type: driftConditionType,
    status: 'True',
    reason: worst[0]?.reason ?? '',
    message: [...words, ...(more > 0 ? [`and ${more} more`] : [])].join(' | '),
  };
}

/** One finding in a line: the place, the records side by side, the cure. */
export function driftWords({ prefix, owner, says, fix }: DoctorFinding): string {
  const place = [prefix ?? '', owner === null ? '' : `of ${owner}`].filter((word) => word !== '');
  const records = Object.entries(says).map(([source, value]) => `${source} says ${value}`);
  const head = [place.join(' '), records.join(', ')].filter((part) => part !== '').join(': ');
  return [head, fix].filter((part) => part !== '').join('; ');
}
