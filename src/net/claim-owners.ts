import type { ClaimNodes } from './claim-nodes.ts';

/**
 * Whose each claim is. Owners are kept sixteen to a line, a line for the slots
 * of a node and one for its other heap numbers, each there as long as it is
 * needed; the node says which of the sixteen count. Lines come out of chunks of
 * equal size, so that growing never copies.
 */
export class ClaimOwners<Owner> {
  readonly #nodes: ClaimNodes;
  readonly #chunks: Array<Owner | undefined>[] = [new Array(1024)];
  /** The first line stands for none. */
  #end = 16;
  readonly #free: number[] = [];
  /** The second and further owners of a prefix, by node and heap number: trouble, therefore rare. */
  readonly #further = new Map<number, Owner[]>();
  #anyFurther = false;

  constructor(nodes: ClaimNodes) {
    this.#nodes = nodes;
  }

  /** Lines there is memory for, those free again included. */
  get lineCount(): number {
    return this.#end / 16;
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

  setFirst(node: number, heap: number, owner: Owner): void {
    let line = this.#nodes.ownerLine(node, heap);
    if (line === 0) {
      line = this.#take();
      this.#nodes.setOwnerLine(node, heap, line);
    }
    this.#chunks[line >>> 10]![(line & 1023) + (heap & 15)] = owner;
  }

  /** Replaces the owners, one or more. */
  setAll(node: number, heap: number, owners: readonly Owner[]): void {
    this.setFirst(node, heap, owners[0] as Owner);
    if (owners.length > 1) this.#further.set(node + heap, owners.slice(1));
    else this.#further.delete(node + heap);
    this.#anyFurther = this.#further.size > 0;
  }

  /** The only owner of a heap number went; with the last of sixteen goes the line. */
  forget(node: number, heap: number): void {
    const line = this.#nodes.ownerLine(node, heap);
    this.#chunks[line >>> 10]![(line & 1023) + (heap & 15)] = undefined;
    const others = this.#nodes.claims(node) & (heap < 16 ? 0xffff : ~0xffff) & ~(1 << heap);
    if (others !== 0) return;
    this.#nodes.setOwnerLine(node, heap, 0);
    this.#free.push(line);
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
