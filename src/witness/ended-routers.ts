/** A router that was heard, and is not now. */
export interface EndedRouter {
  name: string;
  by: 'bmp' | 'bgp';
  endedMs: number;
}

const rememberedMs = 86_400_000;
const mostRemembered = 256;

/** Those that went, so that their absence is said, until they are back or for a day. */
export class EndedRouters {
  readonly #routers = new Map<string, EndedRouter>();

  add(router: EndedRouter): void {
    this.#routers.delete(keyOf(router));
    this.#routers.set(keyOf(router), router);
    for (const oldest of this.#routers.keys()) {
      if (this.#routers.size <= mostRemembered) break;
      this.#routers.delete(oldest);
    }
  }

  /** It is back. */
  forget(router: { name: string; by: 'bmp' | 'bgp' }): void {
    this.#routers.delete(keyOf(router));
  }

  list(nowMs: number): EndedRouter[] {
    return [...this.#routers.values()].filter(({ endedMs }) => nowMs - endedMs < rememberedMs);
  }
}

function keyOf({ name, by }: { name: string; by: 'bmp' | 'bgp' }): string {
  return `${by} ${name}`;
}
