import { describe, expect, onTestFinished, test } from 'vitest';
import { sendStatus } from '../../test/parts/fault-proxy.ts';
import { TestApi, until } from '../../test/parts/test-api.ts';
import { CadastreError } from '../base/errors.ts';
import { silentLog } from '../base/log.ts';
import { KubeClient } from './client.ts';
import { Leadership, type LeadershipOptions } from './lease.ts';
import type { LeaseSpec } from './lease-object.ts';
import { checkTimings, defaultTimings } from './lease-timings.ts';

const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cadastre';
/** Short, yet long enough for a machine that is busy with other tests. */
const quick = { leaseDurationSeconds: 5, renewDeadlineSeconds: 4, retryPeriodSeconds: 0.3 };

/** A clock that can be moved: what a frozen process sees when it wakes. */
function movableClock() {
  let offsetMs = 0;
  return {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now() + offsetMs,
    move: (ms: number) => {
      offsetMs += ms;
    },
  };
}

/** Each test has a server and a diary of its own: they run at the same time. */
async function site() {
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const told: string[] = [];
  const ends: Array<() => Promise<void>> = [];
  // Before the first await: after it vitest does not know which of the tests this is.
  onTestFinished(async () => {
    stop.abort();
    for (const end of ends) await end();
  });
  const api = await TestApi.start([]);
  const client = new KubeClient(api.access(), { requestTimeoutMs: 2_000 });
  ends.push(
    () => client.close(),
    async () => void (await Promise.all(running)),
    () => api.stop(),
  );
  return {
    api,
    stop,
    told,
    candidate: (identity: string, more: Partial<LeadershipOptions> = {}) =>
      new Leadership({
        client,
        namespace: 'kube-system',
        name: 'cadastre',
        identity,
        timings: quick,
        onAcquired: () => told.push(`${identity} leads`),
        onLost: (why) => told.push(`${identity} lost: ${why}`),
        ...more,
      }),
    run(leadership: Leadership, signal = stop.signal): Promise<void> {
      const done = leadership.run(signal);
      running.push(done);
      return done;
    },
    spec: () => api.object(path)?.spec as Required<LeaseSpec>,
  };
}

const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.concurrent('the record', () => {
  test('is written as client-go writes it', async () => {
    const { candidate, spec } = await site();
    const a = candidate('a');
    expect(await a.tryOnce()).toBe(true);
    expect(spec()).toMatchObject({
      holderIdentity: 'a',
      leaseDurationSeconds: 5,
      leaseTransitions: 0,
    });
    expect(spec().renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const { acquireTime, renewTime } = spec();
    await rest(5);
    expect(await a.tryOnce()).toBe(true);
    expect(spec().acquireTime).toBe(acquireTime);
    expect(spec().renewTime > renewTime).toBe(true);
    await a.release();
  });

  test('a renewal is one write and no read', async () => {
    const { api, candidate } = await site();
    const a = candidate('a');
    await a.tryOnce();
    api.asked.length = 0;
    await a.tryOnce();
    expect(api.asked.map(({ method }) => method)).toEqual(['PUT']);
    await a.release();
  });

  test('counts the changes of hands', async () => {
    const { candidate, spec } = await site();
    const a = candidate('a');
    await a.tryOnce();
    await a.release();
    expect(spec().holderIdentity).toBe('');
    const b = candidate('b');
    expect(await b.tryOnce()).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    await b.release();
  });
});

describe.concurrent('leading', () => {
  test('two candidates never lead at once; the other takes over after the lease is over', async () => {
    const { api, told, candidate, run } = await site();
    const [a, b] = [candidate('a'), candidate('b')];
    const stopA = new AbortController();
    const doneA = a.run(stopA.signal);
    await until('a leads', () => a.isLeader());
    run(b);
    await rest(1_000);
    expect(b.isLeader()).toBe(false);
    stopA.abort();
    await doneA;
    const renewedAt = api.asked.filter(({ method }) => method === 'PUT').length;
    await until('b leads', () => b.isLeader());
    expect(a.isLeader()).toBe(false);
    expect(renewedAt).toBeGreaterThan(1);
    expect(told).toEqual(['a leads', 'a lost: the lease was not renewed in time', 'b leads']);
  });

  test('a standby takes over when the lease is over, by one write and no read', async () => {
    const { api, candidate, run } = await site();
    const [a, b] = [candidate('a'), candidate('b')];
    const stopA = new AbortController();
    const doneA = a.run(stopA.signal);
    await until('a leads', () => a.isLeader());
    run(b);
    await until('b watches', () => api.proxy.watching === 1);
    await rest(700);
    let lastPutMs = 0;
    api.intercept = ({ method, body }) => {
      if (method === 'PUT' && (body?.spec as LeaseSpec | undefined)?.holderIdentity === 'a')
        lastPutMs = performance.now();
      return false;
    };
    await rest(700);
    stopA.abort();
    await doneA;
    api.asked.length = 0;
    await until('b leads', () => b.isLeader());
    expect(performance.now() - lastPutMs).toBeGreaterThanOrEqual(4_990);
    // Without the watch it would poll: up to a retry period more, and a read.
    expect(api.asked[0]?.method).toBe('PUT');
  });

  test('a release is taken up at once', async () => {
    const { api, told, candidate, run } = await site();
    const [a, b] = [candidate('a'), candidate('b')];
    run(a);
    await until('a leads', () => a.isLeader());
    run(b);
    await until('b watches', () => api.proxy.watching === 1);
    api.asked.length = 0;
    await a.release();
    expect(a.isLeader()).toBe(false);
    await until('b leads', () => b.isLeader());
    // It heard of it by the watch: it did not have to look.
    expect(api.asked.filter(({ method }) => method === 'GET')).toEqual([]);
    expect(told).toEqual(['a leads', 'a lost: it was released', 'b leads']);
  });

  test('a standby does not poll while its watch works', async () => {
    const { api, candidate, run } = await site();
    const [a, b] = [candidate('a'), candidate('b')];
    run(a);
    await until('a leads', () => a.isLeader());
    run(b);
    await until('b watches', () => api.proxy.watching === 1);
    await rest(700);
    api.asked.length = 0;
    await rest(1_200);
    expect(api.asked.filter(({ method }) => method === 'GET')).toEqual([]);
  });

  test('without a watch a standby polls, and still takes over', async () => {
    const { api, candidate, run } = await site();
    api.intercept = ({ query }, response) => {
      if (!query.has('watch')) return false;
      sendStatus(response, 403, 'Forbidden');
      return true;
    };
    const [a, b] = [candidate('a'), candidate('b')];
    const stopA = new AbortController();
    const doneA = a.run(stopA.signal);
    await until('a leads', () => a.isLeader());
    run(b);
    await rest(500);
    stopA.abort();
    await doneA;
    await until('b leads', () => b.isLeader());
  });

  test('a watch that went deaf is found out and replaced', async () => {
    const { api, candidate, run } = await site();
    const [a, b] = [candidate('a'), candidate('b')];
    run(a);
    await until('a leads', () => a.isLeader());
    let isDeaf = true;
    api.intercept = ({ query }, response) => {
      if (!query.has('watch') || !isDeaf) return false;
      isDeaf = false;
      const object = api.object(path);
      response.writeHead(200).write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
      return true;
    };
    run(b);
    await rest(6_000);
    expect(b.isLeader()).toBe(false);
    await until('another watch is up', () => api.proxy.watching === 1);
    expect(b.isLeader()).toBe(false);
  });

  test('an etcd restored from a backup does not set two leaders against each other', async () => {
    const { api, candidate, run, spec, told } = await site();
    const [a, b] = [candidate('a'), candidate('b')];
    run(a);
    await until('a leads', () => a.isLeader());
    const backup = await api.backUp();
    run(b);
    await until('b watches', () => api.proxy.watching === 1);
    for (let at = 0; at < 50; at++) api.put(`/api/v1/nodes/n${at}`);
    const { renewTime } = spec();
    await until('a has renewed', () => spec().renewTime > renewTime);
    await until('b has seen it', () => b.holder === 'a');
    await api.restore(backup);
    const transitions = spec().leaseTransitions;
    // Longer than a lease: long enough to take a live one for dead.
    await rest(6_500);
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseTransitions: transitions });
    expect(told).toEqual(['a leads']);
  });

  test('a lease that somebody deletes goes to whoever comes first', async () => {
    const { api, candidate, run, spec } = await site();
    const [a, b] = [candidate('a'), candidate('b')];
    run(a);
    await until('a leads', () => a.isLeader());
    run(b);
    await until('b watches', () => api.proxy.watching === 1);
    api.delete(path);
    await until('there is one again', () => spec()?.holderIdentity !== undefined);
    // Who had it learns of it with the next renewal.
    await until('its holder leads alone', () => {
      const isOfA = spec().holderIdentity === 'a';
      return a.isLeader() === isOfA && b.isLeader() === !isOfA;
    });
  });
});

describe.concurrent('losing', () => {
  test('a process that was frozen past its deadline knows on its first instruction', async () => {
    const { candidate } = await site();
    const clock = movableClock();
    const a = candidate('a', { clock });
    await a.tryOnce();
    expect(a.isLeader()).toBe(true);
    clock.move(4_000);
    expect(a.isLeader()).toBe(false);
    await a.release();
  });

  test('the time counts from when the renewal was sent, not from when the answer came', async () => {
    const { api, told, candidate, spec } = await site();
    const clock = movableClock();
    const a = candidate('a', { clock });
    api.intercept = ({ method }) => {
      if (method === 'POST') clock.move(4_100);
      return false;
    };
    expect(await a.tryOnce()).toBe(false);
    expect(spec().holderIdentity).toBe('a');
    expect(a.isLeader()).toBe(false);
    expect(told).toEqual([]);
    api.intercept = undefined;
    await a.release();
    expect(spec().holderIdentity).toBe('');
  });

  test('a gap is told even if nobody else led in it', async () => {
    const { told, candidate } = await site();
    const clock = movableClock();
    const a = candidate('a', { clock });
    await a.tryOnce();
    clock.move(4_100);
    await a.tryOnce();
    expect(told).toEqual(['a leads', 'a lost: the lease was not renewed in time', 'a leads']);
    await a.release();
  });

  test('an API server that is away costs the leadership at the deadline, and it comes back', async () => {
    const { api, told, candidate, run } = await site();
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (_: object, text: string) => warnings.push(text) };
    const a = candidate('a', { log });
    run(a);
    await until('a leads', () => a.isLeader());
    let isDown = true;
    api.intercept = (_asked, response) => {
      if (isDown) response.destroy();
      return isDown;
    };
    await until('a lost', () => told.length === 2);
    expect(a.isLeader()).toBe(false);
    isDown = false;
    await until('a leads again', () => a.isLeader());
    expect(told[1]).toBe('a lost: the lease was not renewed in time');
    // Some dozen attempts failed.
    expect(new Set(warnings).size).toBe(warnings.length);
  });

  test('a server that never answers costs it at the deadline too', async () => {
    const { api, told, candidate, run } = await site();
    const a = candidate('a');
    run(a);
    await until('a leads', () => a.isLeader());
    api.intercept = () => true;
    await until('a lost', () => told.length === 2);
    api.intercept = undefined;
  });

  test('a zombie yields at once when it sees that somebody else leads', async () => {
    const { api, told, candidate, spec } = await site();
    const clock = movableClock();
    const [a, b] = [candidate('a', { clock }), candidate('b')];
    await a.tryOnce();
    const frozen = spec();
    api.put(path, { spec: { ...frozen, holderIdentity: 'b', leaseTransitions: 1 } });
    expect(await b.tryOnce()).toBe(true);
    expect(await a.tryOnce()).toBe(false);
    expect(a.holder).toBe('b');
    expect(told).toContain('a lost: the lease was taken by b');
    await b.release();
  });

  test('clocks that are wrong by years change nothing', async () => {
    const { candidate } = await site();
    const past = { wallMs: () => 0, monotonicMs: () => performance.now() };
    const future = { wallMs: () => Date.now() * 2, monotonicMs: () => performance.now() };
    const [a, b] = [candidate('a', { clock: past }), candidate('b', { clock: future })];
    await a.tryOnce();
    expect(await b.tryOnce()).toBe(false);
    await rest(5_050);
    expect(await b.tryOnce()).toBe(true);
    await b.release();
  });
});

describe.concurrent('an API server that takes five seconds to answer', () => {
  const answerMs = 5_000;
  const slowly = async () => {
    await rest(answerMs);
    return false;
  };
  const timings = defaultTimings;

  test('gets a leader, who stays it, and the standby waits for as long as the Lease says', async () => {
    const { api, told, candidate, run, spec } = await site();
    api.intercept = slowly;
    const [a, b] = [candidate('a', { timings }), candidate('b', { timings })];
    run(a);
    run(b);
    await until('one leads', () => a.isLeader() || b.isLeader());
    const before = [...told];
    expect(spec().leaseDurationSeconds).toBeGreaterThan(20);
    // Longer than that: five renewals.
    await rest(27_000);
    expect(a.isLeader() || b.isLeader()).toBe(true);
    expect(told).toEqual(before);
  });

  test('and was quick before: leadership is lost for some seconds at most, then kept', async () => {
    const { api, told, candidate, run, spec } = await site();
    const a = candidate('a', { timings });
    run(a);
    await until('a leads', () => a.isLeader());
    expect(spec().leaseDurationSeconds).toBe(5);
    api.intercept = slowly;
    await until('it writes a longer duration', () => spec().leaseDurationSeconds > 20);
    await until('a leads again', () => a.isLeader());
    const before = [...told];
    await rest(16_000);
    expect(told).toEqual(before);
    // Quick again: so is the next take-over, after about a minute.
    api.intercept = undefined;
    await until('the duration falls', () => spec().leaseDurationSeconds < 20);
    expect(a.isLeader()).toBe(true);
  });

  test('a standby takes over when the time in the Lease is over, not before', async () => {
    const { api, candidate } = await site();
    const clock = movableClock();
    const spec = { holderIdentity: 'a', leaseDurationSeconds: 23, leaseTransitions: 0 };
    api.put(path, { spec });
    const b = candidate('b', { clock });
    expect(await b.tryOnce()).toBe(false);
    clock.move(20_000);
    expect(await b.tryOnce()).toBe(false);
    clock.move(3_100);
    expect(await b.tryOnce()).toBe(true);
    await b.release();
  });
});

describe.concurrent('writes with an unknown outcome', () => {
  test('a renewal that was done but not answered is no loss', async () => {
    const { api, told, candidate } = await site();
    const a = candidate('a');
    await a.tryOnce();
    let once = true;
    api.intercept = ({ method, body }, response) => {
      if (method !== 'PUT' || !once) return false;
      once = false;
      api.put(path, body);
      response.destroy();
      return true;
    };
    expect(await a.tryOnce()).toBe(true);
    expect(await a.tryOnce()).toBe(true);
    expect(told).toEqual(['a leads']);
    await a.release();
  });

  test('of two that create the lease at once one leads', async () => {
    const { candidate } = await site();
    const all = ['a', 'b', 'c', 'd'].map((identity) => candidate(identity));
    const leads = await Promise.all(all.map((each) => each.tryOnce()));
    expect(leads.filter(Boolean)).toHaveLength(1);
    await Promise.all(all.map((each) => each.release()));
  });
});

describe.concurrent('timings', () => {
  test('the defaults are 5, 3 and 1 seconds', () => {
    expect(defaultTimings).toEqual({
      leaseDurationSeconds: 5,
      renewDeadlineSeconds: 3,
      retryPeriodSeconds: 1,
    });
  });

  test.each([
    [5, 5, 1, 'longer than the renew deadline'],
    [5, 3, 2.5, '1.2 times the retry period'],
    [0, 3, 1, '0 is not a time above zero'],
    [5, Number.NaN, 1, 'NaN is not a time above zero'],
    [1.5, 1, 0.2, 'whole seconds'],
  ])('%d, %d, %d cannot work', (lease, renew, retry, words) => {
    const timings = {
      leaseDurationSeconds: lease,
      renewDeadlineSeconds: renew,
      retryPeriodSeconds: retry,
    };
    let error: unknown;
    try {
      checkTimings(timings);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(CadastreError);
    expect(error).toMatchObject({ code: 'BAD_FLAG', message: expect.stringContaining(words) });
  });
});
