/**
 * What the random tests are drawn from: one seed for all of them, always the same in
 * `npm test`, and how many more runs than usual each makes. `npm run soak -- properties`
 * sets both (see docs/soak.md).
 */
export const seed = Number(process.env.FC_SEED ?? 1);
export const factor = Number(process.env.FC_FACTOR ?? 1);

/** How often to run a property that is usually run this often. */
export function runs(usual: number): number {
  return Math.max(1, Math.round(usual * factor));
}
