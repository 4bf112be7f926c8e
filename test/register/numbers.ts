import fc from 'fast-check';

/**
 * Lists that spell a life: a setting and some steps. Without the bias towards
 * small numbers, because the bits of each are fields, and none of them is special.
 */
export function anyNumbers(mostSteps: number): fc.Arbitrary<number[]> {
  const any = fc.noBias(fc.integer({ min: 0, max: 0xffffffff }));
  return fc.array(any, { minLength: 4, maxLength: 1 + mostSteps, size: 'max' });
}
