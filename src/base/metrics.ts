/**
 * Metrics in the Prometheus text format, version 0.0.4.
 *
 * Every metric is asked for by name where it is used; asking twice gives the
 * same one, so no room has to pass metric objects around, only the registry.
 * A name asked for as two different kinds is a bug and throws.
 */
type MetricLabels = Readonly<Record<string, string>>;

export interface Counter {
  inc(labels?: MetricLabels, by?: number): void;
}

export interface Gauge {
  set(value: number, labels?: MetricLabels): void;
  /** Forgets one series: a gauge about something that is gone must go too. */
  remove(labels?: MetricLabels): void;
  /** Forgets every series, for a gauge that is set whole each time it is read. */
  clear(): void;
}

export interface Histogram {
  observe(value: number, labels?: MetricLabels): void;
}

interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  lines(name: string): Iterable<string>;
}

/** The content type a scraper expects. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

export class Metrics {
  readonly #families = new Map<string, Family>();
  readonly #collectors: (() => void)[] = [];

  counter(name: string, help: string): Counter {
    return this.#family(name, 'counter', () => new CounterFamily(help)) as CounterFamily;
  }

  gauge(name: string, help: string): Gauge {
    return this.#family(name, 'gauge', () => new GaugeFamily(help)) as GaugeFamily;
  }

  /** `buckets` are upper bounds in rising order; +Inf is added. */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram {
    const make = () => new HistogramFamily(help, buckets);
    return this.#family(name, 'histogram', make) as HistogramFamily;
  }

  /** Called before each `text()`, for values that are read rather than counted. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  /** A counter that is kept elsewhere, and read when somebody asks. */
  readCounter(name: string, help: string, read: () => number): void {
    const counter = this.counter(name, help);
    counter.inc({}, 0);
    let before = 0;
    this.onCollect(() => {
      const now = read();
      counter.inc({}, now - before);
      before = now;
    });
  }

  text(): string {
    for (const collect of this.#collectors) collect();
    const lines: string[] = [];
    for (const [name, family] of [...this.#families].sort(byName)) {
      lines.push(`# HELP ${name} ${family.help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`);
      lines.push(`# TYPE ${name} ${family.kind}`);
      lines.push(...family.lines(name));
    }
    return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
  }

  #family(name: string, kind: Family['kind'], make: () => Family): Family {
    const known = this.#families.get(name);
    if (known === undefined) {
      if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new TypeError(`metric name "${name}"`);
      const family = make();
      this.#families.set(name, family);
      return family;
    }
    if (known.kind !== kind)
      throw new TypeError(`metric ${name} is a ${known.kind}, not a ${kind}`);
    return known;
  }
}

class CounterFamily implements Family, Counter {
  readonly kind = 'counter';
  readonly help: string;
  readonly #values = new Map<string, number>();

  constructor(help: string) {
    this.help = help;
  }

  inc(labels: MetricLabels = {}, by = 1): void {
    if (!(by >= 0)) throw new RangeError(`a counter cannot go up by ${by}`);
    const key = labelText(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + by);
  }

  lines(name: string): Iterable<string> {
    return seriesLines(name, this.#values);
  }
}

class GaugeFamily implements Family, Gauge {
  readonly kind = 'gauge';
  readonly help: string;
  readonly #values = new Map<string, number>();

  constructor(help: string) {
    this.help = help;
  }

  set(value: number, labels: MetricLabels = {}): void {
    this.#values.set(labelText(labels), value);
  }

  remove(labels: MetricLabels = {}): void {
    this.#values.delete(labelText(labels));
  }

  clear(): void {
    this.#values.clear();
  }

  lines(name: string): Iterable<string> {
    return seriesLines(name, this.#values);
  }
}

interface Distribution {
  /** Observations per bucket, not yet added up; the last is beyond every bound. */
  counts: number[];
  sum: number;
}

class HistogramFamily implements Family, Histogram {
  readonly kind = 'histogram';
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Distribution>();

  constructor(help: string, bounds: readonly number[]) {
    for (const [i, bound] of bounds.entries()) {
      if (i > 0 && !(bound > (bounds[i - 1] as number))) {
        throw new RangeError(`histogram buckets must rise: ${bounds.join(', ')}`);
      }
    }
    this.help = help;
    this.#bounds = bounds.filter((bound) => bound !== Number.POSITIVE_INFINITY);
  }

  observe(value: number, labels: MetricLabels = {}): void {
    const key = labelText(labels);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { counts: new Array(this.#bounds.length + 1).fill(0), sum: 0 };
      this.#series.set(key, series);
    }
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = found === -1 ? this.#bounds.length : found;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  *lines(name: string): Iterable<string> {
    for (const [key, series] of this.#series) {
      let total = 0;
      for (const [i, count] of series.counts.entries()) {
        total += count;
        const bound = numberText(this.#bounds[i] ?? Number.POSITIVE_INFINITY);
        yield `${name}_bucket{${key === '' ? '' : `${key},`}le="${bound}"} ${total}`;
      }
      const braces = key === '' ? '' : `{${key}}`;
      yield `${name}_sum${braces} ${numberText(series.sum)}`;
      yield `${name}_count${braces} ${total}`;
    }
  }
}

/** Sorted, so that the order in which a caller spells its labels makes no second series. */
function labelText(labels: MetricLabels): string {
  const names = Object.keys(labels);
  if (names.length > 1) names.sort();
  return names.map((name) => `${name}="${escapeLabel(labels[name] as string)}"`).join(',');
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}

function* seriesLines(name: string, values: Map<string, number>): Iterable<string> {
  for (const [key, value] of values) {
    yield `${name}${key === '' ? '' : `{${key}}`} ${numberText(value)}`;
  }
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

function byName([a]: [string, Family], [b]: [string, Family]): number {
  return a < b ? -1 : 1;
}
