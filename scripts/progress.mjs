import { say, secondsSince } from './checkout.mjs';

/**
 * Says every ten seconds how far something is that takes minutes, and when it is done.
 * @template T
 * @param {{ what: string; aboutSeconds: number; detail?: () => string }} job
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress({ what, aboutSeconds, detail = () => '' }, work) {
  const start = performance.now();
  const about = aboutText(aboutSeconds);
  say(`parts: ${what} (once; about ${about} on two cores with empty caches)`);
  const more = () => (detail() === '' ? '' : `: ${detail()}`);
  const timer = setInterval(
    () => say(`parts: ${secondsSince(start)} of about ${about}: ${what}${more()}`),
    10_000,
  );
  try {
    const made = await work();
    say(`parts: ${what}: done in ${secondsSince(start)}${more()}`);
    return made;
  } finally {
    clearInterval(timer);
  }
}

/** @param {number} seconds */
function aboutText(seconds) {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
