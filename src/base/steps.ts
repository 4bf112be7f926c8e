/**
 * Work in portions: a generator yields wherever others may go on, and returns the answer.
 * Who need not let others go on does it at once.
 */
export type Steps<T> = Generator<undefined, T>;

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
