import { expect, test } from 'vitest';
import { loadCorpus, Mutator, Random } from '../../../test/soak/bgp-codec/mutator.ts';
import { CodecOracle } from '../../../test/soak/bgp-codec/oracle.ts';

test('30,000 damaged messages are accepted, trimmed, withdrawn or refused, each with its own code', () => {
  const mutator = new Mutator(loadCorpus(), new Random(7));
  const oracle = new CodecOracle();
  const outcomes = new Set<string>();
  for (let n = 0; n < 30_000; n++) outcomes.add(oracle.check(mutator.next(), mutator.session()));
  // A fuzzer that reaches only one corner would prove nothing.
  expect([...outcomes].sort()).toEqual([
    'accept',
    'attribute-discard',
    'notification 1',
    'notification 2',
    'notification 3',
    'notification 7',
    'quiet',
    'treat-as-withdraw',
  ]);
}, 60_000);
