const unitSeconds: { readonly [unit: string]: number } = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

/** Seconds of a duration as Go writes it (`90s`, `1m30s`, `0`); undefined if it is none. */
export function parseGoDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, , unit] of text.matchAll(/(\d+(\.\d*)?)(ns|us|µs|ms|s|m|h)/g)) {
    seconds += Number(amount) * unitSeconds[unit!]!;
  }
  return seconds;
}
