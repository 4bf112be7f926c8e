/** What became of the attempts at one door. */
export class Tally {
  readonly door: string;
  attempts = 0;
  readonly outcomes = new Map<string, number>();
  /** Promises that were broken, in words; none is the aim. */
  readonly broken: string[] = [];
  readonly #beganMs = performance.now();

  constructor(door: string) {
    this.door = door;
  }

  count(outcome: string): void {
    this.attempts++;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /** The first few; one fault breaks thousands of attempts. */
  breaks(words: string): void {
    if (this.broken.length < 20) this.broken.push(`${this.door}: ${words}`);
  }

  toString(): string {
    const outcomes = [...this.outcomes].sort(([a], [b]) => (a < b ? -1 : 1));
    const words = outcomes.map(([name, count]) => `${name} ${count}`).join(', ');
    const seconds = ((performance.now() - this.#beganMs) / 1000).toFixed(0);
    return `${this.door.padEnd(14)} ${String(this.attempts).padStart(7)} in ${seconds} s: ${words}`;
  }
}

/** All of `work`, `lanes` at a time. */
export async function inLanes<T>(
  work: readonly T[],
  lanes: number,
  perform: (one: T) => Promise<void>,
): Promise<void> {
  const rest = work.values();
  const lane = async () => {
    for (const one of rest) await perform(one);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
