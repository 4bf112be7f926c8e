import { addToGroup } from '../../base/add-to-group.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { type RoutePath, type RouteView, usedPaths } from './route-view.ts';
import type { Survey } from './survey.ts';

/** Whom each record gives a prefix to: by the prefix's text, by record, names of nodes. */
export type Claimants = Map<string, Map<string, string[]>>;

export function claimantsOf(survey: Survey): Claimants {
  const all: Claimants = new Map();
  const gone = (name: string) => (survey.down.has(name) ? 'is down' : 'no such Node');
  const put = (key: string, record: string, who: string) => {
    let records = all.get(key);
    if (records === undefined) {
      records = new Map();
      all.set(key, records);
    }
    addToGroup(records, record, who);
  };
  for (const [name, surveyed] of survey.nodes) {
    for (const [record, prefixes] of surveyed.records) {
      for (const prefix of prefixes) put(prefix.toString(), record, name);
    }
    for (const { prefix } of new Set(surveyed.announces ?? [])) {
      const key = prefix.toString();
      if (!all.get(key)?.get('announced')?.includes(name)) put(key, 'announced', name);
    }
  }
  for (const { name, podCidrs, poolCidrs } of survey.evidence.ciliumNodes) {
    if (survey.nodes.has(name)) continue;
    for (const text of poolCidrs ?? podCidrs) {
      const prefix = parsePrefix(text);
      if (prefix !== undefined) put(prefix.toString(), 'CiliumNode', `${name} (${gone(name)})`);
    }
  }
  for (const { nodeName, prefix, phase } of survey.evidence.blocks) {
    if (nodeName === '' || survey.nodes.has(nodeName)) continue;
    put(prefix.toString(), 'NodeBlock', `${nodeName} (${gone(nodeName)}, ${phase})`);
  }
  return all;
}

const order: readonly string[] = [
  'NodeBlock',
  'CiliumNode',
  'Node.spec',
  'annotation',
  'agent',
  'kernel',
  'announced',
];

/** What the records say about one prefix, in the fixed order. */
export function saysAbout(claimants: Claimants, key: string): Record<string, string> {
  const records = claimants.get(key);
  const says: Record<string, string> = {};
  for (const record of order) {
    const who = records?.get(record);
    if (who !== undefined) says[record] = [...who].sort().join(', ');
  }
  return says;
}

/** The records about a prefix, and what each router holds of it. */
export function sideBySide(
  claimants: Claimants,
  views: readonly RouteView[],
  prefix: Prefix,
  key: string,
  isAnnouncingKnown = false,
): Record<string, string> {
  const says = saysAbout(claimants, key);
  if (isAnnouncingKnown) says.announced ??= 'by nobody';
  for (const view of views) if (view.isRouter) says[view.name] = heldText(view, prefix, key);
  return says;
}

function heldText(view: RouteView, prefix: Prefix, key: string): string {
  const exact = view.routes.get(key)?.paths ?? [];
  const used = exact.filter(({ isUsed }) => isUsed);
  if (used.length > 0) return pathsText(used);
  if (exact.length > 0) return `in the table, not used: ${pathsText(exact)}`;
  const covering = usedPaths(view, prefix, key);
  return covering.length > 0 ? `${pathsText(covering)}, by a shorter prefix` : 'no route';
}

function pathsText(paths: readonly RoutePath[]): string {
  return `via ${paths.map(pathText).join(' and ')}`;
}

function pathText({ nextHop, hop }: RoutePath): string {
  if (hop.kind === 'node') return `${nextHop} (${hop.node})`;
  if (hop.kind === 'router') return `${nextHop} (router ${hop.router})`;
  if (hop.kind === 'own') return 'the router itself';
  return hop.kind === 'unseen' ? `${nextHop} (not known whose)` : `${nextHop} (no node)`;
}
