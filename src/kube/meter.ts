/**
 * The part of base/metrics that this room uses. Everything here also runs
 * without metrics (the command line, tests): then `silentMeter` takes them.
 */
export interface Meter {
  counter(name: string, help: string): Counter;
  gauge(name: string, help: string): Gauge;
  histogram(name: string, help: string, buckets: number[]): Histogram;
}

export interface Counter {
  inc(labels?: Record<string, string>, by?: number): void;
}

export interface Gauge {
  set(value: number, labels?: Record<string, string>): void;
}

export interface Histogram {
  observe(value: number, labels?: Record<string, string>): void;
}

export const silentMeter: Meter = {
  counter: () => ({ inc() {} }),
  gauge: () => ({ set() {} }),
  histogram: () => ({ observe() {} }),
};
