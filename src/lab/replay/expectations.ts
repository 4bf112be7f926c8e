/** The sentences stories are made of: pure, each judged by an observation. */
import type { HeldRoute } from '../routers/router.ts';
import type { Expectation, Observation } from './observation.ts';

const each = (
  seen: Observation,
  judge: (router: string, routes: readonly HeldRoute[]) => string | undefined,
) => {
  const wrong = Object.entries(seen.routers).flatMap(([router, routes]) => {
    const reason = judge(router, routes);
    return reason === undefined ? [] : [`${router} ${reason}`];
  });
  return wrong.length === 0 ? undefined : wrong.join('; ');
};

const describe = (routes: readonly HeldRoute[]) =>
  routes.map(({ prefix, nextHop }) => `${prefix} via ${nextHop}`).join(', ') || 'nothing';

/** Each prefix leads to the node that owns it, and every owner's prefix is there. */
export function routersHoldTheRegister(except: readonly string[] = []): Expectation {
  return {
    what: 'every router holds exactly the register: each block, at the node that owns it',
    judge: (seen) => {
      const owners = new Map(
        seen.blocks
          .filter(({ phase, node }) => phase === 'Active' && !except.includes(node))
          .map(({ cidr, node }) => [cidr, node]),
      );
      return each(seen, (_, all) => {
        const routes = all.filter(({ prefix }) => !seen.services?.includes(prefix));
        const wrong = routes.filter(({ prefix, nextHop }) => {
          const next = seen.nodeOf[nextHop];
          // From another router: that one is judged by itself.
          return !owners.has(prefix) || (next !== undefined && next !== owners.get(prefix));
        });
        if (wrong.length > 0) return `holds ${describe(wrong)}, which differs from the register`;
        const missing = [...owners.keys()].filter(
          (cidr) => !routes.some(({ prefix }) => prefix === cidr),
        );
        return missing.length === 0 ? undefined : `lacks ${missing.join(', ')}`;
      });
    },
  };
}

/** `{ '10.5.112.0/24': '10.4.94.32' }`, at every router. */
export function routersHold(wanted: Readonly<Record<string, string>>): Expectation {
  const list = Object.entries(wanted).map(([prefix, nextHop]) => `${prefix} via ${nextHop}`);
  return {
    what: `every router holds ${list.join(', ') || 'nothing'}`,
    judge: (seen) =>
      each(seen, (_, routes) => {
        const held = describe(routes);
        return held === (list.join(', ') || 'nothing') ? undefined : `holds ${held}`;
      }),
  };
}

/** Which node a router uses for the address of a Service. */
export function serviceIsReachedThrough(prefix: string, nodes: readonly string[]): Expectation {
  return {
    what: `every router reaches ${prefix} through ${nodes.join(' or ')}`,
    judge: (seen) =>
      each(seen, (_, routes) => {
        const route = routes.find((one) => one.prefix === prefix);
        if (route === undefined) return `does not hold ${prefix}`;
        const node = seen.nodeOf[route.nextHop];
        if (node !== undefined && nodes.includes(node)) return undefined;
        return `reaches it through ${node ?? route.nextHop}`;
      }),
  };
}

export function noRouterHolds(prefix: string): Expectation {
  return {
    what: `no router holds ${prefix}`,
    judge: (seen) =>
      each(seen, (_, routes) =>
        routes.some((route) => route.prefix === prefix) ? `holds ${prefix}` : undefined,
      ),
  };
}

export function isOrphan(prefix: string, nextHop: string, owner: string): Expectation {
  return {
    what: `${prefix} of ${owner}, which is gone, stays on every router: an orphan`,
    judge: (seen) =>
      each(seen, (_, routes) => {
        const route = routes.find((one) => one.prefix === prefix);
        if (route === undefined) return `does not hold ${prefix}`;
        return route.nextHop === nextHop ? undefined : `holds it via ${route.nextHop}`;
      }),
  };
}

function podExpectation(
  what: string,
  isMeant: (node: string) => boolean,
  judge: (pod: Observation['pods'][number]) => string | undefined,
): Expectation {
  return {
    what,
    judge: (seen) => {
      const meant = seen.pods.filter(({ node }) => isMeant(node));
      if (meant.length === 0) return 'there is no such pod';
      const wrong = meant.flatMap((pod) => {
        const reason = judge(pod);
        return reason === undefined ? [] : [`${pod.name} (${pod.address}) ${reason}`];
      });
      return wrong.length === 0 ? undefined : wrong.join('; ');
    },
  };
}

export function podsAnswer(except: readonly string[] = []): Expectation {
  const others = except.length === 0 ? 'every pod' : `every pod but those of ${except.join(', ')}`;
  return podExpectation(
    `${others} answers from outside`,
    (node) => !except.includes(node),
    ({ isAnswering }) => (isAnswering ? undefined : 'does not answer'),
  );
}

export function podsAreSilent(nodes: readonly string[]): Expectation {
  return podExpectation(
    `the pods of ${nodes.join(', ')} have lost the outside`,
    (node) => nodes.includes(node),
    ({ isSilent }) => (isSilent ? undefined : 'still answers'),
  );
}

/** In this step. */
export function noPingLost(except: readonly string[] = []): Expectation {
  const whose = except.length === 0 ? 'nobody' : `nobody but ${except.join(', ')}`;
  return podExpectation(
    `${whose} lost a ping`,
    (node) => !except.includes(node),
    ({ pings }) => {
      if (pings.sent === 0) return 'was never pinged';
      return pings.lost === 0 ? undefined : `lost ${pings.lost} of ${pings.sent}`;
    },
  );
}

/** In this step, not even for a moment. */
export function noRouteLeft(): Expectation {
  return {
    what: 'no route left a router, not even for a moment',
    judge: ({ routeEvents }) => {
      const gone = routeEvents.filter(({ change }) => change === 'removed');
      if (gone.length === 0) return undefined;
      return gone.map(({ router, prefix }) => `${prefix} left ${router}`).join('; ');
    },
  };
}

export function blockIs(cidr: string, phase: string, node: string): Expectation {
  return {
    what: `${cidr} is ${phase}, of ${node}`,
    judge: ({ blocks }) => {
      const block = blocks.find((one) => one.cidr === cidr);
      if (block === undefined) return `the register has no ${cidr}`;
      if (block.phase === phase && block.node === node) return undefined;
      return `it is ${block.phase}, of ${block.node}`;
    },
  };
}

export function awaitsWitness(node: string): Expectation {
  return {
    what: `the block of ${node} is still its own, cools, and awaits a witness`,
    judge: ({ blocks }) => {
      const held = blocks.filter((one) => one.node === node);
      if (held.length === 0) return `${node} has no block`;
      const wrong = held.filter(({ phase, awaits }) => phase !== 'Cooling' || awaits === undefined);
      if (wrong.length === 0) return undefined;
      return wrong.map(({ cidr, phase }) => `${cidr} is ${phase}`).join();
    },
  };
}

/** Never since the story began to look. */
export function noAddressInTwoPlaces(): Expectation {
  return {
    what: 'no address is alive in two places',
    judge: ({ twoPlaces }) => {
      if (twoPlaces === undefined) return 'nobody has looked';
      return twoPlaces.length === 0 ? undefined : twoPlaces.join('; ');
    },
  };
}

/** Nobody says that its old node does not use it; the condition names the cure. */
export function blockAwaits(cidr: string, cure: string): Expectation {
  return {
    what: `${cidr} awaits a witness, and says so with the command that cures it`,
    judge: ({ blocks }) => {
      const { awaits } = blocks.find((one) => one.cidr === cidr) ?? {};
      if (awaits === undefined) return 'it does not say so';
      return awaits.includes(cure) ? undefined : `it says: ${awaits}`;
    },
  };
}

/** Each of them exactly one. */
export function nodesHaveABlock(nodes: readonly string[]): Expectation {
  return {
    what: `${nodes.join(', ')}: each has exactly one block`,
    judge: ({ blocks }) => {
      const wrong = nodes.flatMap((node) => {
        const held = blocks.filter((block) => block.node === node && block.phase === 'Active');
        return held.length === 1 ? [] : [`${node} has ${held.length}`];
      });
      return wrong.length === 0 ? undefined : wrong.join(', ');
    },
  };
}

export function nodeHoldsIn(node: string, range: string, isIn: (cidr: string) => boolean) {
  return {
    what: `${node} holds a block in ${range}, and nothing else`,
    judge: ({ blocks }: Observation) => {
      const held = blocks.filter((block) => block.node === node && block.phase !== 'Cooling');
      if (held.length === 1 && isIn(held[0]!.cidr) && held[0]!.phase === 'Active') return undefined;
      return `it holds ${held.map(({ cidr, phase }) => `${cidr} (${phase})`).join(', ') || 'nothing'}`;
    },
  } satisfies Expectation;
}

export function tracePasses(trace: string, hops: readonly string[]): Expectation {
  return {
    what: `${trace}: ${hops.join(' → ')}`,
    judge: ({ traces }) => {
      const seen = traces[trace];
      if (seen === undefined) return 'there was no trace';
      return seen.join(' ') === hops.join(' ') ? undefined : `it was ${seen.join(' → ')}`;
    },
  };
}

export function noteIs(key: string, value: string, what: string): Expectation {
  return {
    what,
    judge: ({ notes }) => (notes[key] === value ? undefined : `it is ${notes[key] ?? 'unknown'}`),
  };
}

/** A figure that was measured; the limit may be known only by then. */
export function figureAtMost(name: string, limit: () => number, what: string): Expectation {
  return {
    what,
    judge: ({ figures }) => {
      const value = figures[name];
      if (value === undefined) return 'it was not measured';
      return value <= limit() ? undefined : `${name}: ${value}, and the limit is ${limit()}`;
    },
  };
}

export function leads(name: () => string, isIt: boolean, what: string): Expectation {
  return {
    what,
    judge: ({ leader }) => ((leader === name()) === isIt ? undefined : `${leader} leads`),
  };
}
