/**
 * A history: what happens to a site, drawn at random, and what must be true at every moment
 * of it (decision 30):
 *
 *   no address is reachable in two places: no two machines that are on have announced
 *     overlapping blocks to routers;
 *   an API server that is down takes no route away;
 *   when everything is mended, every node announces a block of its own.
 */
import fc from 'fast-check';
import { parsePrefix } from '../../src/net/prefix.ts';
import type { KillPoint, SimMachine } from './machine.ts';
import { Site, type SiteChoices } from './site.ts';

export type Happening =
  | { kind: 'cut api' | 'heal api' | 'isolate' | 'reconnect'; machine: number }
  | { kind: 'cut router' | 'heal router'; machine: number; router: number }
  | { kind: 'delete node' | 'register node' | 'replace machine' | 'lose blocks'; machine: number }
  | { kind: 'power off' | 'power on' | 'kill agent'; machine: number }
  | { kind: 'kill agent at'; machine: number; at: KillPoint }
  | { kind: 'operator loses router' | 'operator hears router'; router: number }
  | { kind: 'operator loses api' | 'operator hears api' | 'next leader' }
  | { kind: 'api down' | 'api up' | 'add machine' };

export interface History {
  choices: SiteChoices;
  /** What happens, each after so many ticks, in which the actors take turns in this order. */
  happenings: ReadonlyArray<{ afterTicks: number; order: number; what: Happening }>;
}

const machine = fc.nat(3);
const router = fc.nat(1);
const kindsOf = <K extends string>(...kinds: K[]) => fc.constantFrom(...kinds);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: kindsOf('cut api', 'heal api', 'isolate', 'reconnect'), machine }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: kindsOf('cut router', 'heal router'), machine, router }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: kindsOf(
        'delete node',
        'delete node',
        'register node',
        'replace machine',
        'lose blocks',
      ),
      machine,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kindsOf('power off', 'power on', 'kill agent'), machine }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('kill agent at' as const),
      machine,
      at: kindsOf('save', 'announce', 'report'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kindsOf('operator loses router', 'operator hears router'),
      router,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kindsOf(
        'operator loses api',
        'operator hears api',
        'next leader',
        'api down',
        'api up',
        'add machine',
        'add machine',
      ),
    }),
  },
);

type Moment = History['happenings'][number];

const someTime = fc.oneof(fc.nat(4), fc.integer({ min: 5, max: 80 }));
const aWhile = fc.integer({ min: 20, max: 60 });

const single: fc.Arbitrary<Moment[]> = fc
  .record({ afterTicks: someTime, order: fc.nat(7), what: happening })
  .map((moment) => [moment]);

/**
 * What chance alone seldom brings about: a machine is given up, its block may be given to
 * another, and it comes back, on the routers' side first.
 */
const givenUp: fc.Arbitrary<Moment[]> = fc
  .record({
    machine,
    order: fc.nat(7),
    how: kindsOf('isolate', 'cut api', 'power off'),
    ticks: fc.tuple(fc.nat(3), aWhile, fc.nat(6), fc.nat(20)),
    isRestarted: fc.boolean(),
  })
  .map(({ machine: one, order, how, ticks: [soon, later, then, end], isRestarted }) => {
    const at = (afterTicks: number, what: Happening): Moment => ({ afterTicks, order, what });
    return [
      at(soon, { kind: how, machine: one }),
      ...(how === 'power off' ? [at(0, { kind: 'cut api', machine: one } as const)] : []),
      at(soon, { kind: 'delete node', machine: one }),
      at(later, { kind: 'add machine' }),
      ...(isRestarted ? [at(then, { kind: 'kill agent', machine: one } as const)] : []),
      at(then, { kind: 'power on', machine: one }),
      at(0, { kind: 'reconnect', machine: one }),
      at(end, { kind: 'heal api', machine: one }),
    ];
  });

export const anyHistory = (most: number): fc.Arbitrary<History> =>
  fc.record({
    choices: fc.record({
      releaseByTimeSeconds: fc.option(fc.constant(240), { nil: undefined }),
      isSmall: fc.boolean(),
      hasWitness: fc.boolean(),
      routersAdvertise: fc.boolean(),
    }),
    happenings: fc
      .array(fc.oneof({ weight: 5, arbitrary: single }, { weight: 1, arbitrary: givenUp }), {
        maxLength: most,
        size: 'max',
      })
      .map((moments) => moments.flat()),
  });

export interface Tally {
  histories: number;
  ticks: number;
  released: Map<string, number>;
}

export const emptyTally = (): Tally => ({ histories: 0, ticks: 0, released: new Map() });

/** Throws what is broken, and when. */
export function live({ choices, happenings }: History, tally = emptyTally()): void {
  const site = new Site(choices);
  for (const name of ['a', 'b', 'c']) site.addMachine(name);
  const run = (ticks: number, order: number) => {
    for (let tick = 0; tick < ticks; tick++) {
      const before = announcements(site);
      site.step(order + tick);
      check(site, before);
      tally.ticks += 1;
    }
  };
  run(6, 0);
  for (const { afterTicks, order, what } of happenings) {
    run(afterTicks, order);
    happen(site, what);
  }
  run(10, 0);
  mend(site);
  run(40, 0);
  checkMended(site);
  tally.histories += 1;
  const released = new Map<string, string>();
  for (const { object } of site.api.log('NodeBlock')) {
    const by = (object?.spec as { released?: { by: string } } | undefined)?.released?.by;
    if (by !== undefined) released.set(object?.metadata?.uid ?? '', by);
  }
  for (const by of released.values()) tally.released.set(by, (tally.released.get(by) ?? 0) + 1);
}

function happen(site: Site, what: Happening): void {
  const { operator } = site;
  if ('machine' in what) {
    const found = site.machines[what.machine % site.machines.length];
    if (found !== undefined) happenTo(site, found, what);
    return;
  }
  switch (what.kind) {
    case 'operator loses router':
      operator.routerCuts.add(what.router);
      return;
    case 'operator hears router':
      operator.routerCuts.delete(what.router);
      return;
    case 'operator loses api':
      operator.isApiCut = true;
      return;
    case 'operator hears api':
      operator.isApiCut = false;
      return;
    case 'next leader':
      operator.changeLeader();
      return;
    case 'api down':
      if (!site.isApiUp) return;
      site.isApiUp = false;
      for (const one of site.machines) one.isDisturbed = !isWell(one);
      return;
    case 'api up':
      site.isApiUp = true;
      return;
    case 'add machine':
      if (site.isApiUp && site.machines.length < 6) site.addMachine(`n${site.machines.length}`);
  }
}

/** The links of the machine are whole, and it announces. */
const isWell = (one: SimMachine) =>
  one.isOn &&
  !one.isApiCut &&
  one.routerCuts.size === 0 &&
  one.announced.size > 0 &&
  one.killAt === undefined;

function happenTo(
  site: Site,
  one: SimMachine,
  what: Extract<Happening, { machine: number }>,
): void {
  one.isDisturbed = true;
  switch (what.kind) {
    case 'cut api':
      one.isApiCut = true;
      return;
    case 'heal api':
      one.isApiCut = false;
      return;
    case 'isolate':
      one.isApiCut = true;
      for (const router of site.routers) one.routerCuts.add(router);
      return;
    case 'reconnect':
      // The routers first: that is the moment in which a machine that was given up comes back.
      one.routerCuts.clear();
      return;
    case 'cut router':
      one.routerCuts.add(site.routers[what.router]!);
      return;
    case 'heal router':
      one.routerCuts.delete(site.routers[what.router]!);
      return;
    case 'delete node':
      // A register that has just lost a block knows of it by the report of its node alone.
      if (site.isApiUp && !site.lost.has(one.nodeName)) site.deleteNode(one.nodeName);
      return;
    case 'lose blocks':
      // Objects that somebody deletes, or a backup does not have, while the node is there.
      if (site.isApiUp) site.loseBlocks(one.nodeName);
      return;
    case 'register node':
      // Its kubelet, which needs the API server as its agent does.
      if (one.reachesApi) site.registerNode(one);
      return;
    case 'replace machine':
      // Another machine of the same name, while the old one may be alive and cut off.
      if (!site.isApiUp || site.machines.length >= 6 || site.lost.has(one.nodeName)) return;
      site.deleteNode(one.nodeName);
      site.addMachine(one.nodeName);
      return;
    case 'power off':
      one.powerOff();
      return;
    case 'power on':
      one.powerOn();
      return;
    case 'kill agent':
      one.killAgent();
      return;
    case 'kill agent at':
      one.killAt = what.at;
  }
}

/** What machines that are on have announced over a session that is really there. */
function announcements(site: Site): Map<SimMachine, Set<string>> {
  const found = new Map<SimMachine, Set<string>>();
  for (const router of site.routers) {
    for (const { cidr, machine: one } of router.routes()) {
      if (!one.reaches(router)) continue;
      found.set(one, (found.get(one) ?? new Set()).add(cidr));
    }
  }
  return found;
}

function check(site: Site, before: Map<SimMachine, Set<string>>): void {
  const now = [...announcements(site)];
  const after = new Map(now);
  for (const [at, [one, cidrs]] of now.entries()) {
    for (const [other, others] of now.slice(at + 1)) {
      for (const cidr of cidrs) {
        const twice = [...others].find((theirs) =>
          parsePrefix(theirs)!.overlaps(parsePrefix(cidr)!),
        );
        if (twice === undefined) continue;
        throw new Error(
          `${cidr} is reachable on ${one.address} (${one.nodeName}) and on ${other.address} (${other.nodeName}) at ${site.nowMs}`,
        );
      }
    }
  }
  const isByTime = site.choices.releaseByTimeSeconds !== undefined;
  if (site.isApiUp || isByTime) return;
  for (const [one, cidrs] of before) {
    if (one.isDisturbed) continue;
    for (const cidr of cidrs) {
      if (after.get(one)?.has(cidr)) continue;
      throw new Error(`${cidr} of ${one.nodeName} was withdrawn while the API server was down`);
    }
  }
}

function mend(site: Site): void {
  site.isApiUp = true;
  site.operator.isApiCut = false;
  site.operator.routerCuts.clear();
  for (const one of site.machines) {
    one.isApiCut = false;
    one.routerCuts.clear();
    one.powerOn();
    one.killAt = undefined;
  }
}

/** Every Node that is there has a block, and the machine that has its addresses announces it. */
function checkMended(site: Site): void {
  if (site.choices.isSmall) return;
  const announced = announcements(site);
  for (const { metadata, status } of site.api.list('Node')) {
    const addresses = (status as { addresses: Array<{ address: string }> }).addresses;
    const one = site.machines.find(({ address }) => addresses.some((a) => a.address === address));
    if (one === undefined || announced.has(one)) continue;
    throw new Error(`${metadata?.name} announces nothing, though everything is mended`);
  }
}
