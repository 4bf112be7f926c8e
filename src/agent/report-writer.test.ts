import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { AcceptedReport } from './accepted-report.ts';
import { type ReportContent, ReportWriter } from './report-writer.ts';

afterEach(() => vi.useRealTimers());

const content = (pods: number): ReportContent => ({
  node: { name: 'n1', uid: 'u1' },
  owners: [],
  spec: {
    neededAddresses: {},
    releases: [],
    uses: [],
    fenced: [],
    silentAfter: [],
    reconfirmAfterSeconds: 150,
  },
  status: { blocks: [{ cidr: '10.5.113.0/24', pods }] } as unknown as ReportContent['status'],
});

const notFound = new ApiError({ request: 'PATCH /', status: 404, outcome: 'refused' });

function begin(everyMs: number) {
  const written: unknown[] = [];
  const annotations: object[] = [];
  let isBroken = false;
  let isThere = true;
  let policy: string | undefined;
  const client = {
    patch: async (_: unknown, _name: string, { body }: { body: Record<string, unknown> }) => {
      if (isBroken) throw new Error('no answer');
      if (!isThere) throw notFound;
      written.push(body.status ?? 'spec');
      annotations.push(body.metadata as object);
    },
    create: async () => {
      isThere = true;
      written.push('created');
    },
  } as unknown as KubeClient;
  const writer = new ReportWriter({
    client,
    log: silentLog,
    clock: systemClock,
    random: () => 0.5,
    everyMs,
    policy: { identity: async () => policy },
    onAccepted: () => undefined,
  });
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  return {
    writer,
    written,
    annotations,
    breakIt: (yes: boolean) => {
      isBroken = yes;
    },
    install: (identity: string) => {
      policy = identity;
    },
    deleteIt: () => {
      isThere = false;
    },
    end: async () => {
      stop.abort();
      await vi.runAllTimersAsync();
      await running;
    },
  };
}

test('however often something changes, a report is written once in its time, and the last word is', async () => {
  vi.useFakeTimers();
  const { writer, written, end } = begin(5_000);
  for (let at = 0; at < 100; at++) {
    writer.declare(content(at));
    await vi.advanceTimersByTimeAsync(100);
  }
  await vi.advanceTimersByTimeAsync(5_000);
  const statuses = written.filter((one) => one !== 'spec');
  expect(statuses).toHaveLength(3);
  expect(statuses.at(-1)).toEqual(content(99).status);
  writer.declare(content(99));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written.filter((one) => one !== 'spec')).toHaveLength(3);
  await end();
});

test('news of a hijack does not wait for the time of the next report, and its end neither', async () => {
  vi.useFakeTimers();
  const { writer, written, end } = begin(5_000);
  const hijacked = { cidr: '10.5.113.0/24', prefix: '10.5.113.0/25', peer: 't', nextHop: '::1' };
  const withHijacks = (...hijacks: object[]) =>
    ({ ...content(1), status: { ...content(1).status, hijacks } }) as ReportContent;
  writer.declare(withHijacks());
  await vi.advanceTimersByTimeAsync(2_000);
  for (const [pods, hijacks] of [
    [1, [hijacked]],
    [2, []],
  ] as const) {
    writer.declare(withHijacks(...hijacks));
    await vi.advanceTimersByTimeAsync(0);
    expect(written.at(-1), `${pods}`).toMatchObject({ hijacks });
    await vi.advanceTimersByTimeAsync(500);
  }
  // One that flaps is written twice a second and no more.
  const before = written.length;
  for (let at = 0; at < 100; at++) {
    writer.declare(withHijacks(...(at % 2 === 0 ? [hijacked] : [])));
    await vi.advanceTimersByTimeAsync(30);
  }
  expect(written.length - before).toBeLessThanOrEqual(7);
  await end();
});

test('what could not be written is written later, without a new declaration', async () => {
  vi.useFakeTimers();
  const { writer, written, breakIt, end } = begin(5_000);
  breakIt(true);
  writer.declare(content(1));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(written).toEqual([]);
  breakIt(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written.at(-1)).toEqual(content(1).status);
  await end();
});

test('a report that somebody deleted is made anew, though nothing changed', async () => {
  vi.useFakeTimers();
  const { writer, written, deleteIt, end } = begin(5_000);
  writer.declare(content(1));
  await vi.advanceTimersByTimeAsync(10_000);
  deleteIt();
  written.length = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(written).toEqual(['created', content(1).status]);
  await end();
});

test('after the store went back in time it is written again at once', async () => {
  vi.useFakeTimers();
  const { writer, written, end } = begin(10);
  writer.declare(content(1));
  await vi.advanceTimersByTimeAsync(100);
  written.length = 0;
  writer.writeAgain();
  await vi.advanceTimersByTimeAsync(100);
  expect(written).toEqual(['spec', content(1).status]);
  await end();
});

test('a fence counts as said from the moment it is sent, and as taken back when a report without it is accepted', () => {
  const accepted = new AcceptedReport();
  const block = { cidr: '10.5.113.0/24', uid: 'b1' };
  expect(accepted.unfencedMs('b1')).toBeUndefined();
  accepted.accepted({ fenced: [], silentAfter: [] }, 100);
  expect(accepted.unfencedMs('b1')).toBe(100);
  accepted.sending({ fenced: [block], silentAfter: [] });
  expect(accepted.unfencedMs('b1')).toBeUndefined();
  accepted.accepted({ fenced: [block], silentAfter: [] }, 200);
  expect(accepted.unfencedMs('b1')).toBeUndefined();
  accepted.sending({ fenced: [], silentAfter: [] });
  accepted.accepted({ fenced: [], silentAfter: [{ ...block, seconds: 300 }] }, 300);
  expect(accepted.unfencedMs('b1')).toBe(300);
  expect(accepted.silentAfter?.get('b1')).toBe(300);
});

test('a report names the policy that it is written under, and all of it is written again under another', async () => {
  vi.useFakeTimers();
  const { writer, written, annotations, install, end } = begin(5_000);
  const named = () => annotations.filter((one) => one !== undefined).at(-1);
  writer.declare(content(1));
  await vi.advanceTimersByTimeAsync(0);
  expect(named()).toMatchObject({ annotations: { 'cadastre.dev/admission-policy': null } });
  install('p.1 b.1');
  const before = written.length;
  writer.writeAgain();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(named()).toMatchObject({ annotations: { 'cadastre.dev/admission-policy': 'p.1 b.1' } });
  expect(written.slice(before)).toEqual(['spec', content(1).status]);
  await end();
});
