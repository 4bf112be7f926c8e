import { listNames } from '../../base/count-text.ts';
import { type Labels, selects } from '../../model/label-selector.ts';
import type { Reason } from '../../model/reasons.ts';
import type { ClusterService } from '../../model/service.ts';
import type { ServiceAddress } from '../../model/service-address.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';
import { firstFree, type ServicePool, type ServicePoolSet } from './service-pools.ts';

/**
 * Which addresses one Service takes, keeps and gives back. A Service keeps what
 * it has: neither a pool that went, nor a better pool, nor a wish that cannot be
 * granted takes an address away. Only its own end, another type, a family it no
 * longer has, or another address that it asked for and got.
 *
 * An address that its status shows already, from whoever served the cluster
 * before, is taken over ahead of all new ones (`mayAssign` is false until that is
 * done for every Service).
 */
export interface ServiceQuestion {
  /** As the API server has it; undefined: it is gone. */
  service: ClusterService | undefined;
  /** All that is registered under its name. */
  held: readonly ServiceAddress[];
  pools: ServicePoolSet;
  /** By another Service, or by a node. */
  isTaken(address: string): boolean;
  mayAssign: boolean;
}

export interface ServiceRefusal {
  family: Family;
  reason: Reason;
  detail: string;
}

export interface ServiceDecision {
  /** Whether the Service is ours to serve; else its status is left alone. */
  isOurs: boolean;
  claim: Array<{ address: Address; pool: string }>;
  keep: ServiceAddress[];
  /** To release whatever else is registered. */
  free: ServiceAddress[];
  replaced: ReplacedAddress[];
  refused: ServiceRefusal[];
}

/**
 * An address to release because the Service has another one instead. `by` is known
 * from a cache only: another leader may have released it since, and then `old` is the
 * last that the Service has. So the API server is asked for `by` first (`isStillHeld`).
 */
export interface ReplacedAddress {
  old: ServiceAddress;
  by: ServiceAddress;
}

/** Whether what the API server has under the address's name is still that very entry. */
export function isStillHeld(known: ServiceAddress, now: ServiceAddress | undefined): boolean {
  return now !== undefined && now.uid === known.uid && !now.deleting;
}

export function decideService(question: ServiceQuestion): ServiceDecision {
  const { service, held, pools } = question;
  const decision: ServiceDecision = {
    isOurs: false,
    claim: [],
    keep: [],
    free: [],
    replaced: [],
    refused: [],
  };
  if (!service?.isForUs) return { ...decision, free: [...held] };
  const own = held.filter(({ serviceUid }) => serviceUid === service.uid);
  const isOfItsFamilies = ({ address }: ServiceAddress) =>
    service.families.includes(address.family);
  decision.free = held.filter((one) => !own.includes(one) || !isOfItsFamilies(one));
  // A cluster without pools has its Services served by somebody else.
  decision.isOurs = own.length > 0 || pools.pools.length > 0;
  if (!decision.isOurs) return decision;
  for (const family of service.families) {
    decideFamily(question, service, family, own, decision);
  }
  if (service.isContent && decision.keep.length + decision.claim.length > 0) decision.refused = [];
  return decision;
}

function decideFamily(
  question: ServiceQuestion,
  service: ClusterService,
  family: Family,
  own: readonly ServiceAddress[],
  decision: ServiceDecision,
): void {
  const held = own
    .filter(({ address }) => address.family === family)
    .sort((a, b) => rank(service, a) - rank(service, b) || a.address.compare(b.address));
  const [current] = held;
  const wished = service.requested.filter((address) => address.family === family);
  const granted = held.find(({ address }) => wished[0]?.equals(address));
  const isGranted = wished.length === 1 && granted !== undefined;
  // Without its wish it keeps what it has, until the other one is its own.
  const kept = isGranted ? granted : current;
  if (kept !== undefined) {
    decision.keep.push(kept);
    const others = held.filter((one) => one !== kept);
    decision.replaced.push(...others.map((old) => ({ old, by: kept })));
  }
  if (isGranted) return;
  const answer = wishOrChoice(question, service, family, wished, current);
  if (answer.kind === 'claim') decision.claim.push(answer);
  if (answer.kind === 'refused') decision.refused.push({ family, ...answer.why });
}

/** What the Service's users know already comes first, then the oldest. */
function rank(service: ClusterService, { address, createdMs }: ServiceAddress): number {
  return service.ingress.includes(address.toString()) ? -1 : createdMs;
}

type Answer =
  | { kind: 'claim'; address: Address; pool: string }
  | { kind: 'refused'; why: Omit<ServiceRefusal, 'family'> }
  | { kind: 'nothing' };

const refused = (reason: Reason, detail: string): Answer => ({
  kind: 'refused',
  why: { reason, detail },
});

function wishOrChoice(
  question: ServiceQuestion,
  service: ClusterService,
  family: Family,
  wished: readonly Address[],
  current: ServiceAddress | undefined,
): Answer {
  if (service.requestProblem !== undefined) {
    return refused('MalformedRequest', `the Service asks for ${service.requestProblem}`);
  }
  const [wish, second] = wished;
  if (second !== undefined) {
    const detail = `the Service asks for two ${family} addresses, ${wish} and ${second}`;
    return refused('MalformedRequest', detail);
  }
  if (wish !== undefined) return grant(question, service, wish);
  if (current !== undefined) return { kind: 'nothing' };
  return takeOver(question, service, family) ?? choose(question, service, family);
}

function grant(question: ServiceQuestion, service: ClusterService, wish: Address): Answer {
  const pool = question.pools.containing(wish);
  if (pool === undefined) return refused('AddressOutsidePools', `${wish} lies in no pool`);
  if (!selects(pool.serviceSelector, service.labels)) {
    const detail = `${wish} lies in pool ${pool.name}, whose serviceSelector does not match`;
    return refused('AddressOutsidePools', detail);
  }
  if (service.requestedPool !== undefined && service.requestedPool !== pool.name) {
    const detail = `${wish} lies in pool ${pool.name}, not in ${service.requestedPool}`;
    return refused('AddressOutsidePools', detail);
  }
  if (question.isTaken(wish.toString())) return refused('AddressTaken', `${wish} is taken`);
  if (pool.disabled) return refused('PoolDisabled', `pool ${pool.name} serves no new Service`);
  return { kind: 'claim', address: wish, pool: pool.name };
}

function takeOver(
  { pools, isTaken }: ServiceQuestion,
  service: ClusterService,
  family: Family,
): Answer | undefined {
  for (const text of service.ingress) {
    const address = parseAddress(text);
    if (address?.family !== family || isTaken(text)) continue;
    const pool = pools.containing(address);
    if (pool !== undefined) return { kind: 'claim', address, pool: pool.name };
  }
  return undefined;
}

function choose(question: ServiceQuestion, service: ClusterService, family: Family): Answer {
  const { pools, isTaken, mayAssign } = question;
  if (!mayAssign) return { kind: 'nothing' };
  const fitting = pools.sound.filter((pool) => fits(pool, service.requestedPool, service.labels));
  const open = fitting.filter(({ disabled }) => !disabled);
  const serving = open.filter(({ spans }) => spans.some((span) => span.family === family));
  for (const pool of serving) {
    const address = firstFree(pool, family, isTaken);
    if (address !== undefined) return { kind: 'claim', address, pool: pool.name };
  }
  const names = (list: readonly ServicePool[]) => listNames(list.map(({ name }) => name));
  if (serving.length > 0) {
    return refused('AddressesExhausted', `no ${family} address is free in ${names(serving)}`);
  }
  if (open.length > 0) {
    return refused('FamilyNotServed', `${names(open)} has no ${family} addresses`);
  }
  if (fitting.length > 0) return refused('PoolDisabled', `${names(fitting)} serves no new Service`);
  return refused('NoPoolFitsService', whyNone(pools, service));
}

function fits(pool: ServicePool, wanted: string | undefined, labels: Labels): boolean {
  if (!selects(pool.serviceSelector, labels)) return false;
  return wanted === undefined ? pool.autoAssign : pool.name === wanted;
}

function whyNone(pools: ServicePoolSet, { requestedPool }: ClusterService): string {
  if (requestedPool === undefined) {
    const [broken] = pools.pools.flatMap(({ name }) => pools.problem(name)?.detail ?? []);
    return broken ?? 'no pool with autoAssign selects the Service';
  }
  const problem = pools.problem(requestedPool);
  if (problem !== undefined) return problem.detail;
  return pools.get(requestedPool) !== undefined
    ? `pool ${requestedPool} does not select the Service`
    : `there is no pool called ${requestedPool}`;
}

/** The addresses that status.loadBalancer is to show, the first family first. */
export function desiredIngress(service: ClusterService, keep: readonly ServiceAddress[]): string[] {
  return service.families.flatMap((family) =>
    keep.filter(({ address }) => address.family === family).map(({ address }) => `${address}`),
  );
}
