import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';
import { registerProcessMetrics } from './process-metrics.ts';

test('a registry is written in the text format, families by name', () => {
  const metrics = new Metrics();
  metrics.gauge('pool_free', 'Blocks free.').set(3, { pool: 'rack83' });
  const decisions = metrics.counter('decisions_total', 'Decisions.');
  decisions.inc({ reason: 'Assigned', family: 'ipv4' });
  decisions.inc({ family: 'ipv4', reason: 'Assigned' }, 2);
  decisions.inc();
  expect(metrics.text()).toBe(
    [
      '# HELP decisions_total Decisions.',
      '# TYPE decisions_total counter',
      'decisions_total{family="ipv4",reason="Assigned"} 3',
      'decisions_total 1',
      '# HELP pool_free Blocks free.',
      '# TYPE pool_free gauge',
      'pool_free{pool="rack83"} 3',
      '',
    ].join('\n'),
  );
});

test('label values and help texts are escaped', () => {
  const metrics = new Metrics();
  metrics.gauge('odd', 'a \\ and\na line').set(1, { value: 'a"b\\c\nd' });
  expect(metrics.text()).toContain('# HELP odd a \\\\ and\\na line\n');
  expect(metrics.text()).toContain('odd{value="a\\"b\\\\c\\nd"} 1\n');
});

test('a histogram adds its buckets up, and what is beyond them goes to +Inf', () => {
  const metrics = new Metrics();
  const seconds = metrics.histogram('wait_seconds', 'Wait.', [0.1, 1, 10]);
  for (const value of [0.1, 0.5, 5, 50]) seconds.observe(value, { verb: 'list' });
  expect(metrics.text().split('\n').slice(2, -1)).toEqual([
    'wait_seconds_bucket{verb="list",le="0.1"} 1',
    'wait_seconds_bucket{verb="list",le="1"} 2',
    'wait_seconds_bucket{verb="list",le="10"} 3',
    'wait_seconds_bucket{verb="list",le="+Inf"} 4',
    'wait_seconds_sum{verb="list"} 55.6',
    'wait_seconds_count{verb="list"} 4',
  ]);
});

test('asking twice for a name gives the same metric; another kind is a bug', () => {
  const metrics = new Metrics();
  metrics.counter('twice_total', 'Once.').inc();
  metrics.counter('twice_total', 'Once.').inc();
  expect(metrics.text()).toContain('twice_total 2\n');
  expect(() => metrics.gauge('twice_total', 'Once.')).toThrow('is a counter, not a gauge');
  expect(() => metrics.gauge('no spaces', 'Bad.')).toThrow('metric name "no spaces"');
  expect(() => metrics.counter('twice_total', '').inc({}, -1)).toThrow('cannot go up by -1');
  expect(() => metrics.histogram('falling', '', [2, 1])).toThrow('buckets must rise');
});

test('a removed series is gone, the others stay', () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge('peer_up', 'Up.');
  gauge.set(1, { peer: 'a' });
  gauge.set(Number.POSITIVE_INFINITY, { peer: 'b' });
  gauge.remove({ peer: 'a' });
  expect(metrics.text()).not.toContain('peer="a"');
  expect(metrics.text()).toContain('peer_up{peer="b"} +Inf\n');
});

test('a process says what it uses, and its CPU time only grows', () => {
  const metrics = new Metrics();
  const stop = registerProcessMetrics(metrics, '1.2.3');
  const read = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics.text())?.[1]);
  expect(read('process_resident_memory_bytes')).toBeGreaterThan(10e6);
  expect(Math.abs(read('process_start_time_seconds') - Date.now() / 1000)).toBeLessThan(3600);
  const before = read('process_cpu_seconds_total');
  for (const until = performance.now() + 20; performance.now() < until; );
  expect(read('process_cpu_seconds_total')).toBeGreaterThan(before);
  expect(metrics.text()).toMatch(/^nodejs_eventloop_lag_p99_seconds [\d.e-]+$/m);
  expect(metrics.text()).toMatch(/^cadastre_build_info\{nodejs="[\d.]+",version="1.2.3"\} 1$/m);
  stop();
});

test('a gauge that is set whole forgets what is not said again', () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge('peer_up', 'Up.');
  gauge.set(1, { peer: 'a' });
  gauge.clear();
  gauge.set(1, { peer: 'b' });
  expect(metrics.text()).toContain('peer_up{peer="b"} 1\n');
  expect(metrics.text()).not.toContain('peer="a"');
});

test('a counter that is kept elsewhere is there from the start, and read at each scrape', () => {
  const metrics = new Metrics();
  let writes = 0;
  metrics.readCounter('writes_total', 'Writes.', () => writes);
  expect(metrics.text()).toContain('writes_total 0\n');
  writes = 3;
  expect(metrics.text()).toContain('writes_total 3\n');
  expect(metrics.text()).toContain('writes_total 3\n');
});
