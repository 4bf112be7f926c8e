import type { ClaimNodes } from './claim-nodes.ts';

/**
 * Whose each claim is. Owners are kept sixteen to a line, a line for the slots
 * of a node and one for its other heap numbers, made when first needed; the
 * node says which of them count. Lines come out of chunks of equal size, so
 * that growing never copies.
 */
export class ClaimOwners<Owner> {
  readonly #nodes: ClaimNodes;
  readonly #chunks: Array<Owner | undefined>[] = [];
  /** Line 0 stands for none. */
  #end = 16;
  readonly #free: number[] = [];
  /** The second and further owners of a prefix, by node and heap number: trouble, therefore rare. */
  readonly #further = new Map<number, Owner[]>();
  #anyFurther = false;

  constructor(nodes: ClaimNodes) {
    this.#nodes = nodes;
    this.#chunks.push(new Array(1024));
  }

  /** The first owner of a heap number that is claimed. */
  first(node: number, heap: number): Owner {
    const line = this.#nodes.ownerLine(node, heap);
    return this.#chunks[line >>> 10]![(line & 1023) + (heap & 15)] as Owner;
  }

  hasSeveral(node: number, heap: number): boolean {
    return this.#anyFurther && this.#further.has(node + heap);
  }

  /** All owners of a heap number, in the order of recording. */
  all(node: number, heap: number): Owner[] {
    if (((this.#nodes.claims(node) >>> heap) & 1) === 0) return [];
    return [this.first(node, heap), ...(this.#further.get(node + heap) ?? [])];
  }

  /** Sets the first owner; undefined when there is none any more. */
  setFirst(node: number, heap: number, owner: Owner | undefined): void {
    let line = this.#nodes.ownerLine(node, heap);
    if (line === 0) {
      line = this.#take();
      this.#nodes.setOwnerLine(node, heap, line);
    }
    this.#chunks[line >>> 10]![(line & 1023) + (heap & 15)] = owner;
  }

  /** Replaces the owners, one or more. */
  setAll(node: number, heap: number, owners: readonly Owner[]): void {
    this.setFirst(node, heap, owners[0]);
    if (owners.length > 1) this.#further.set(node + heap, owners.slice(1));
    else this.#further.delete(node + heap);
    this.#anyFurther = this.#further.size > 0;
  }

  /** The node is gone, and with it its lines. */
  drop(node: number): void {
    const slots = this.#nodes.ownerLine(node, 16);
    if (slots !== 0) this.#free.push(slots);
    const others = this.#nodes.ownerLine(node, 0);
    if (others !== 0) this.#free.push(others);
  }

  #take(): number {
    const freed = this.#free.pop();
    if (freed !== undefined) return freed;
    const line = this.#end;
    this.#end += 16;
    if (line >>> 10 === this.#chunks.length) this.#chunks.push(new Array(1024));
    return line;
  }
}
