/**
 * Renderings towards one peer, each made once. Equal ones are one object, even
 * when they come from different declarations or settings: comparing references
 * then shows whether a change has to be advertised to the peer.
 */
import type { Family } from '../../net/family.ts';
import type { AttributeSet } from './announcement.ts';
import { type RenderContext, type Rendered, renderRoute } from './route-rendering.ts';

export class RenderingCache {
  /** Attribute sets are of one family each. A text is the reason why it cannot be encoded. */
  readonly #bySet = new Map<AttributeSet, Rendered | string>();
  readonly #interned = new Map<string, Rendered>();

  render(set: AttributeSet, family: Family, context: RenderContext): Rendered | string {
    const known = this.#bySet.get(set);
    if (known !== undefined) return known;
    const rendered = this.#renderAnew(set, family, context);
    this.#bySet.set(set, rendered);
    return rendered;
  }

  get size(): number {
    return this.#interned.size;
  }

  /** The context is another one: everything has to be made anew, and may come out the same. */
  contextChanged(): void {
    this.#bySet.clear();
  }

  clear(): void {
    this.#bySet.clear();
    this.#interned.clear();
  }

  /** Attributes that change for ever must not be remembered for ever. */
  keepOnly(used: ReadonlySet<Rendered>): void {
    this.#bySet.clear();
    for (const [key, rendered] of this.#interned)
      if (!used.has(rendered)) this.#interned.delete(key);
  }

  #renderAnew(set: AttributeSet, family: Family, context: RenderContext): Rendered | string {
    const result = renderRoute(set, family, context);
    if (result.kind === 'unencodable') return result.reason;
    const key = `${family}${JSON.stringify(result.rendered)}`;
    const known = this.#interned.get(key);
    if (known !== undefined) return known;
    this.#interned.set(key, result.rendered);
    return result.rendered;
  }
}
