import type { Prefix } from '../net/prefix.ts';
import { type DesiredRoute, type DesiredRoutes, unreachable } from '../plan/node/desired-routes.ts';
import { formerBlockMs } from './agent-settings.ts';

/**
 * Blocks that were ours a moment ago. What the routers still send here must not
 * fall through to the default route and back to them: it is dropped for a while.
 */
export class FormerBlocks {
  readonly #blocks = new Map<string, { prefix: Prefix; untilMs: number }>();

  /** The routes with those for former blocks; and when to look again, if a block has just become one. */
  with(
    desired: DesiredRoutes,
    owned: ReadonlyArray<{ prefix: Prefix }>,
    nowMs: number,
  ): { routes: DesiredRoutes; againInMs: number | undefined } {
    const isOwned = (prefix: Prefix) => owned.some((block) => block.prefix.equals(prefix));
    let againInMs: number | undefined;
    for (const [cidr, { prefix, untilMs }] of this.#blocks) {
      if (isOwned(prefix)) continue;
      if (untilMs === Number.POSITIVE_INFINITY) {
        this.#blocks.set(cidr, { prefix, untilMs: nowMs + formerBlockMs });
        againInMs = formerBlockMs;
      } else if (untilMs <= nowMs) this.#blocks.delete(cidr);
    }
    const rest: DesiredRoute[] = [];
    for (const { prefix } of this.#blocks.values()) {
      if (isOwned(prefix) || desired.routes.some((route) => route.prefix.overlaps(prefix)))
        continue;
      rest.push(unreachable(prefix));
    }
    for (const { prefix } of owned) {
      this.#blocks.set(`${prefix}`, { prefix, untilMs: Number.POSITIVE_INFINITY });
    }
    return { routes: { ...desired, routes: [...desired.routes, ...rest] }, againInMs };
  }
}
