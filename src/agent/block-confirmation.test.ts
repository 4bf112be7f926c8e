import { expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import type { KubeClient } from '../kube/client.ts';
import { parsePrefix } from '../net/prefix.ts';
import { BlockConfirmation } from './block-confirmation.ts';

test('after a pause that only the wall clock saw, earlier confirmations and earlier questions do not count', () => {
  let nowMs = 0;
  const confirmation = new BlockConfirmation({
    client: {} as KubeClient,
    clock: { monotonicMs: () => nowMs, wallMs: () => 0 },
    random: () => 0.5,
    log: silentLog,
    nodeName: 'n1',
    source: 'register',
    onConfirmed: () => undefined,
  });
  const block = parsePrefix('10.5.113.0/24')!;
  confirmation.note([block], 5);
  expect(confirmation.confirmedMs.get('10.5.113.0/24')).toBe(5);
  nowMs = 10;
  confirmation.forget();
  confirmation.note([block], 9);
  expect(confirmation.confirmedMs.size).toBe(0);
  confirmation.note([block], 11);
  expect(confirmation.confirmedMs.get('10.5.113.0/24')).toBe(11);
});
