import { plural } from '../../base/count-text.ts';
import { formatSelector } from '../../model/label-selector.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { type AddressHolder, holderOf, holderWords } from './address-holder.ts';
import { listOf, present } from './answer-parts.ts';
import type { ClusterIndex, FoundPod } from './cluster-index.ts';
import { describeRouter } from './describe-router.ts';
import { type AnswerList, link, plain, type Subject, type SubjectAnswer } from './subject.ts';

/** What a page or a terminal shows of a subject; undefined: there is none of that name. */
export function describeSubject(index: ClusterIndex, subject: Subject): SubjectAnswer | undefined {
  const { kind, name } = subject;
  switch (kind) {
    case 'address': {
      const address = parseAddress(name);
      return address && describeAddress(index, address);
    }
    case 'block':
    case 'prefix': {
      const prefix = parsePrefix(name);
      return prefix && describePrefix(index, prefix);
    }
    case 'pod':
      return describePod(index, name);
    case 'service':
      return describeService(index, name);
    case 'router':
      return describeRouter(index, name);
    case 'pool':
      return describePool(index, name);
    case 'node':
      return describeNode(index, name);
  }
}

function describeAddress(index: ClusterIndex, address: Address): SubjectAnswer {
  const holder = holderOf(index, address);
  return {
    subject: { kind: 'address', name: holder.address },
    summary: holderWords(holder),
    facts: holderFacts(holder),
    lists: [],
    cidrs: holder.block === '' ? [] : [holder.block],
  };
}

function holderFacts(holder: AddressHolder): SubjectAnswer['facts'] {
  const { pod, service, node, block, phase, pool, network } = holder;
  return present([
    ['pod', pod !== '' && link('pod', pod)],
    ['Service', service !== '' && link('service', service)],
    ['node', node !== '' && link('node', node)],
    ['block', block !== '' && link('block', block)],
    ['phase', phase !== '' && plain(phase)],
    ['pool', pool !== '' && (service === '' ? link('pool', pool) : plain(pool))],
    ['network', network !== '' && plain(network)],
  ]);
}

function describePrefix(index: ClusterIndex, prefix: Prefix): SubjectAnswer {
  const key = prefix.toString();
  const owners = index.survey.owners.get(key) ?? [];
  const registered = index.registeredIn(prefix).filter(({ phase }) => phase !== 'Guard');
  const exact = registered.find((block) => block.prefix.equals(prefix));
  const isBlock = owners.length > 0 || exact !== undefined;
  const pools = index.survey.pools.filter(({ cidrs }) =>
    cidrs.some((cidr) => cidr.overlaps(prefix)),
  );
  const pods = [...index.pods.values()].filter(({ addresses }) =>
    addresses.some((text) => isInside(prefix, text)),
  );
  const held = owners.map(({ node }) => node);
  const node = held[0] ?? exact?.nodeName ?? '';
  return {
    subject: { kind: isBlock ? 'block' : 'prefix', name: key },
    summary: isBlock
      ? held.length === 0
        ? `${key} was ${node || 'nobody'}'s, and is in phase ${exact?.phase}`
        : `${key} is a block of ${held.join(' and ')}`
      : `${key}: ${plural(registered.length, 'block')} in it or around it`,
    facts: present([
      ['node', node !== '' && link('node', node)],
      ['phase', exact !== undefined && plain(exact.phase)],
      ['pool', pools.map(({ name }) => link('pool', name))],
      ['pods', index.pods.size > 0 && plain(String(pods.length))],
    ]),
    lists: [
      ...(isBlock || registered.length === 0
        ? []
        : [
            listOf('Blocks', ['block', 'node', 'phase'], registered, (block) => [
              link('block', block.prefix.toString()),
              link('node', block.nodeName),
              plain(block.phase),
            ]),
          ]),
      ...podList(pods),
      ...heldBy(index, key),
    ],
    cidrs: isBlock ? [key] : registered.map((block) => block.prefix.toString()),
  };
}

function describePod(index: ClusterIndex, name: string): SubjectAnswer | undefined {
  const pod = index.pods.get(name);
  if (pod === undefined) return undefined;
  const holders = pod.addresses.flatMap((text) => {
    const address = parseAddress(text);
    return address === undefined ? [] : [holderOf(index, address)];
  });
  const blocks = [...new Set(holders.map(({ block }) => block))].filter((block) => block !== '');
  return {
    subject: { kind: 'pod', name },
    summary: `pod ${name} runs on ${pod.node || 'no known node'} with ${pod.addresses.join(', ')}`,
    facts: present([
      ['node', pod.node !== '' && link('node', pod.node)],
      ['address', pod.addresses.map((text) => link('address', text))],
      ['block', blocks.map((block) => link('block', block))],
      ['pool', [...new Set(holders.map(({ pool }) => pool))].map((pool) => link('pool', pool))],
    ]),
    lists: blocks.flatMap((block) => heldBy(index, block)),
    cidrs: blocks,
  };
}

function describeService(index: ClusterIndex, name: string): SubjectAnswer | undefined {
  const { evidence, nodes } = index.survey;
  const own = evidence.serviceAddresses.filter(({ service }) => service === name);
  if (own.length === 0) return undefined;
  const texts = own.map(({ address }) => address.toString());
  const announcers = [...nodes.values()].flatMap(({ node, report }) =>
    (report?.status?.sessions ?? []).flatMap(({ peer, announced }) =>
      announced
        .filter(({ prefix }) => texts.some((text) => prefix.startsWith(`${text}/`)))
        .map(({ prefix }) => ({ node: node.name, peer, prefix })),
    ),
  );
  return {
    subject: { kind: 'service', name },
    summary: `Service ${name} has ${texts.join(', ')}`,
    facts: present([
      ['address', texts.map((text) => link('address', text))],
      ['pool', [...new Set(own.map(({ pool }) => pool))].map(plain)],
    ]),
    lists: [
      listOf('Announced by', ['node', 'router', 'prefix'], announcers, (one) => [
        link('node', one.node),
        link('router', one.peer),
        plain(one.prefix),
      ]),
    ],
    cidrs: [],
  };
}

function describePool(index: ClusterIndex, name: string): SubjectAnswer | undefined {
  const { pools, evidence } = index.survey;
  const pool = pools.find((one) => one.name === name);
  if (pool === undefined) return undefined;
  const blocks = evidence.blocks
    .filter((block) => block.pool === name && block.phase !== 'Guard')
    .sort((a, b) => a.prefix.compare(b.prefix));
  const nodes = new Set(blocks.map(({ nodeName }) => nodeName));
  const pods = [...nodes].reduce((sum, node) => sum + (index.podsOf.get(node)?.length ?? 0), 0);
  return {
    subject: { kind: 'pool', name },
    summary: `pool ${name}: ${plural(blocks.length, 'block')} of ${plural(nodes.size, 'node')}`,
    facts: present([
      ['CIDRs', pool.cidrs.map((cidr) => link('prefix', cidr.toString()))],
      ['for', plain(pool.selector === undefined ? 'every node' : formatSelector(pool.selector))],
      ['priority', plain(String(pool.priority))],
      ['reserved', pool.reserved.map((cidr) => link('prefix', cidr.toString()))],
      ['pods', index.pods.size > 0 && plain(String(pods))],
    ]),
    lists: [
      listOf('Blocks', ['block', 'node', 'phase'], blocks, (block) => [
        link('block', block.prefix.toString()),
        link('node', block.nodeName),
        plain(block.phase),
      ]),
    ],
    cidrs: [],
  };
}

function describeNode(index: ClusterIndex, name: string): SubjectAnswer | undefined {
  const found = index.survey.nodes.get(name);
  if (found === undefined) return undefined;
  const keys = found.blocks.map(({ key }) => key);
  return {
    subject: { kind: 'node', name },
    summary: `node ${name} has ${keys.join(', ') || 'no block'}`,
    facts: present([
      ['address', found.node.addresses.map((text) => link('address', text))],
      ['block', keys.map((key) => link('block', key))],
    ]),
    lists: podList(index.podsOf.get(name) ?? []),
    cidrs: keys,
  };
}

/** Which routers hold a route to the block, and where it leads. */
function heldBy(index: ClusterIndex, key: string): AnswerList[] {
  const rows = index.survey.views
    .filter(({ isRouter }) => isRouter)
    .map(({ name, routes }) => ({ name, paths: routes.get(key)?.paths ?? [] }));
  if (rows.length === 0) return [];
  return [
    listOf('In the routers’ tables', ['router', 'next hop', 'leads to'], rows, (row) => [
      link('router', row.name),
      plain(row.paths.map(({ nextHop }) => nextHop).join(', ') || 'no route'),
      ...row.paths
        .slice(0, 1)
        .map(({ hop }) =>
          hop.kind === 'node'
            ? link('node', hop.node)
            : hop.kind === 'router'
              ? link('router', hop.router)
              : plain(hop.kind === 'own' ? 'itself' : 'no known node'),
        ),
    ]),
  ];
}

function podList(pods: readonly FoundPod[]): AnswerList[] {
  if (pods.length === 0) return [];
  return [
    listOf('Pods', ['pod', 'address', 'node'], pods, ({ name, node, addresses }) => [
      link('pod', name),
      ...addresses.slice(0, 1).map((text) => link('address', text)),
      link('node', node),
    ]),
  ];
}

function isInside(prefix: Prefix, text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && prefix.contains(address);
}
