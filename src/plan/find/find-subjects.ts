import { type Address, parseAddress } from '../../net/address.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { holderOf, holderWords } from './address-holder.ts';
import type { ClusterIndex } from './cluster-index.ts';
import { type Subject, type SubjectKind, subjectKinds } from './subject.ts';

export interface FoundSubject {
  subject: Subject;
  /** What it is, in a few words. */
  words: string;
}

/** `pod/default/web-1`, `node/x`: the kind and the name; without a kind, any. */
export function readQuestion(text: string): { kind: SubjectKind | undefined; name: string } {
  const trimmed = text.trim();
  const slash = trimmed.indexOf('/');
  const kind = subjectKinds.find((one) => one === trimmed.slice(0, Math.max(slash, 0)));
  if (kind === undefined || kind === 'prefix' || kind === 'address') {
    return { kind: undefined, name: trimmed };
  }
  return { kind, name: trimmed.slice(slash + 1) };
}

/**
 * Everything that the text may mean, best first: an address or a prefix by its form,
 * then names, whole ones before those that only begin with it or have it inside.
 */
export function findSubjects(index: ClusterIndex, text: string, most = 20): FoundSubject[] {
  const { kind, name } = readQuestion(text);
  if (name === '') return [];
  const address = parseAddress(name);
  const prefix = address === undefined ? parsePrefix(name) : undefined;
  const byForm = kind === undefined || kind === 'block' ? byNumbers(index, address, prefix) : [];
  const wanted = name.toLowerCase();
  const named: Array<FoundSubject & { rank: number }> = [];
  for (const [of, all] of namesOf(index)) {
    if (kind !== undefined && kind !== of) continue;
    for (const [found, words] of all) {
      const rank = rankOf(found.toLowerCase(), wanted);
      if (rank === undefined) continue;
      named.push({ subject: { kind: of, name: found }, words: words(), rank });
      // Of a great many the first ones do: whoever looks types another letter.
      if (named.length > 2_000) break;
    }
  }
  const places = new Map(subjectKinds.map((one, at) => [one, at]));
  named.sort(
    (a, b) =>
      a.rank - b.rank ||
      (places.get(a.subject.kind) ?? 0) - (places.get(b.subject.kind) ?? 0) ||
      byNumber.compare(a.subject.name, b.subject.name),
  );
  const found = [...byForm, ...named.map(({ subject, words }) => ({ subject, words }))];
  const seen = new Set<string>();
  return found
    .filter(({ subject }) => {
      const key = `${subject.kind} ${subject.name}`;
      return !seen.has(key) && seen.add(key);
    })
    .slice(0, most);
}

const byNumber = new Intl.Collator('en', { numeric: true });

/** The whole name, the part after a slash, a beginning, or somewhere inside. */
function rankOf(name: string, wanted: string): number | undefined {
  if (name === wanted) return 0;
  const at = name.indexOf(wanted);
  if (at < 0) return undefined;
  const tail = name.slice(name.lastIndexOf('/') + 1);
  if (tail === wanted) return 1;
  if (at === 0 || tail.startsWith(wanted)) return 2;
  return 3;
}

function byNumbers(
  index: ClusterIndex,
  address: Address | undefined,
  prefix: Prefix | undefined,
): FoundSubject[] {
  if (address !== undefined) {
    const holder = holderOf(index, address);
    const about: FoundSubject = {
      subject: { kind: 'address', name: holder.address },
      words: holderWords(holder),
    };
    return [
      about,
      ...(holder.pod === '' ? [] : [named('pod', holder.pod, `has ${holder.address}`)]),
      ...(holder.service === '' ? [] : [named('service', holder.service, 'has this address')]),
      ...(holder.node === '' ? [] : [named('node', holder.node, holder.block)]),
      ...(holder.block === '' ? [] : [named('block', holder.block, `of ${holder.node}`)]),
    ];
  }
  if (prefix === undefined) return [];
  const key = prefix.toString();
  const isBlock =
    index.survey.owners.has(key) ||
    index.registeredIn(prefix).some((block) => block.prefix.equals(prefix));
  const inside = index.registeredIn(prefix);
  return [
    named(isBlock ? 'block' : 'prefix', key, `${inside.length} registered in it or around it`),
    ...inside
      .slice(0, 10)
      .map((block) => named('block', block.prefix.toString(), `of ${block.nodeName || 'nobody'}`)),
  ];
}

const named = (kind: SubjectKind, name: string, words: string): FoundSubject => ({
  subject: { kind, name },
  words,
});

type Names = Iterable<readonly [name: string, words: () => string]>;

function* namesOf(index: ClusterIndex): Iterable<[SubjectKind, Names]> {
  const { survey, routers, pods } = index;
  const { evidence } = survey;
  yield [
    'node',
    [...survey.nodes.values()].map(({ node, blocks }) => [
      node.name,
      () => [...node.addresses, ...blocks.map(({ key }) => key)].join(', '),
    ]),
  ];
  yield [
    'router',
    [...routers.values()].map(({ name, addresses, asn }) => [
      name,
      () => `${addresses.join(', ')}${asn === undefined ? '' : `, AS ${asn}`}`,
    ]),
  ];
  yield ['pool', survey.pools.map((pool) => [pool.name, () => pool.cidrs.join(', ')])];
  const services = new Map<string, string[]>();
  for (const { service, address } of evidence.serviceAddresses) {
    services.set(service, [...(services.get(service) ?? []), address.toString()]);
  }
  yield ['service', [...services].map(([name, all]) => [name, () => all.join(', ')])];
  yield [
    'pod',
    [...pods.values()].map(({ name, node, addresses }) => [
      name,
      () => `${addresses.join(', ')} on ${node}`,
    ]),
  ];
  yield ['block', survey.blocks.map(({ key, node }) => [key, () => `of ${node}`])];
}
