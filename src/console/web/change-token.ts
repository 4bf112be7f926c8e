/**
 * The token for changes. `cadastre up` prints it in the console's address, after `#token=`,
 * which a browser sends to nobody. It is taken out of the address at once, so that it stays
 * out of the history and of addresses that are passed on, and is kept for this tab alone:
 * unlike a cookie, no other port of this machine ever gets it.
 */
import { useEffect, useState } from 'preact/hooks';

const key = 'cadastre-change-token';
const changed = 'cadastre-change-token';
let token: string | undefined;

export function followChangeToken(): void {
  take();
  // A new address pasted over the old one of the same page is no new page.
  window.addEventListener('hashchange', take);
}

export function forgetChangeToken(): void {
  keep(undefined);
}

/** Undefined in a page that was opened without it. */
export function useChangeToken(): string | undefined {
  const [known, setKnown] = useState(token);
  useEffect(() => {
    const read = () => setKnown(token);
    window.addEventListener(changed, read);
    return () => window.removeEventListener(changed, read);
  }, []);
  return known;
}

function take(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given === null) {
    token ??= kept();
    return;
  }
  history.replaceState(null, '', location.pathname + location.search);
  keep(given);
}

function keep(given: string | undefined): void {
  token = given;
  try {
    if (given === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, given);
  } catch {
    // A browser that keeps nothing: it lasts as long as the page.
  }
  window.dispatchEvent(new Event(changed));
}

function kept(): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}
