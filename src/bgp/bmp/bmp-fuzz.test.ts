import { expect, test } from 'vitest';
import { bmpCorpus as corpus } from '../../../test/parts/bmp-corpus.ts';
import { Random } from '../../../test/soak/bgp-codec/mutator.ts';
import { BmpFramer } from './bmp-framer.ts';
import { MonitoredRouter } from './monitored-router.ts';

test('20,000 damaged BMP streams do no more than raise the count of faults', () => {
  const random = new Random(11);
  let faults = 0;
  let broken = 0;
  for (let n = 0; n < 20_000; n++) {
    const router = new MonitoredRouter('10.0.0.1', 1);
    const framer = new BmpFramer();
    const stream = Buffer.concat([corpus[1]!, random.pick(corpus), random.pick(corpus)]);
    for (let times = random.below(4); times >= 0; times--) {
      stream[random.below(stream.length)] = random.below(256);
    }
    const cut = random.below(stream.length);
    for (const chunk of [stream.subarray(0, cut), stream.subarray(cut)]) {
      framer.push(chunk);
      for (let next = framer.next(); next !== undefined; next = framer.next()) {
        if (typeof next === 'string') {
          broken++;
          break;
        }
        router.take(next);
      }
    }
    faults += router.faults;
  }
  // Both kinds must occur, or nothing was tried.
  expect(faults).toBeGreaterThan(500);
  expect(broken).toBeGreaterThan(500);
}, 60_000);
