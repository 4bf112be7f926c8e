/** What a page may do in `cadastre up`, and what came of it. */
import { useState } from 'preact/hooks';
import { changeTokenHeader } from '../try-it.ts';
import { forgetChangeToken, useChangeToken } from './change-token.ts';

export interface TryItActions {
  /** False in a page that was opened without the token. */
  isAllowed: boolean;
  /** The action that is under way; empty: none. */
  busy: string;
  /** What the server said to the last one. */
  said: string;
  act(action: string, body?: Record<string, unknown>): Promise<void>;
}

export function useTryIt(): TryItActions {
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState('');
  const changeToken = useChangeToken();
  const act = async (action: string, body: Record<string, unknown> = {}) => {
    setBusy(action);
    try {
      const reply = await fetch(`/api/try/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', [changeTokenHeader]: changeToken ?? '' },
        body: JSON.stringify(body),
      });
      const answer = (await reply.json()) as { said?: string; error?: string };
      setSaid(answer.said ?? answer.error ?? '');
      // The token of an earlier start: the page says what to do.
      if (reply.status === 401) forgetChangeToken();
    } catch (error) {
      setSaid(String(error));
    } finally {
      setBusy('');
    }
  };
  return { isAllowed: changeToken !== undefined, busy, said, act };
}
