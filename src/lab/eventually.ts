import { CadastreError, describeError } from '../base/errors.ts';

/** Asks until it gets an answer that is not undefined; says what it heard last when it never does. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  options: { withinMs?: number; everyMs?: number; why?: () => string } = {},
): Promise<T> {
  const { withinMs = 60_000, everyMs = 50 } = options;
  const deadline = performance.now() + withinMs;
  let last = 'not yet';
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = describeError(error);
    }
    if (performance.now() > deadline) {
      const why = options.why?.() ?? last;
      throw new CadastreError(
        'LAB_FAILED',
        `${what}: not within ${Math.round(withinMs / 1000)} s; ${why}`,
        { remedy: 'The logs are in its folder (cadastre lab status, or lab cluster status).' },
      );
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
