/** How runs of other projects' tests are judged, and what docs/conformance.md says of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import expectations from './soak/conformance-network/expectations.json' with { type: 'json' };
import { networkFigures } from './soak/conformance-network/figures.ts';
import groups from './soak/conformance-network/groups.json' with { type: 'json' };
import critestExpectations from './soak/critest/expectations.json' with { type: 'json' };
import { type Spec, surprises } from './soak/e2e/specs.ts';

const spec = (name: string, state: string): Spec => ({ name, state, why: 'no route', seconds: 1 });

test('a test that does not pass without a reason, one that passes against it, and one that is gone are told', () => {
  const specs = [
    spec('a', 'passed'),
    spec('b', 'failed'),
    spec('c', 'skipped'),
    spec('d', 'passed'),
  ];
  expect(surprises(specs, { c: 'not ours', d: 'not ours', e: 'not ours' })).toEqual([
    'b: failed: no route',
    'd: passed, but is expected not to',
    'e: expected not to pass, but there is no such test',
  ]);
});

test('the page gets the figures of each group, and each test that did not pass with its reason', () => {
  const lines = networkFigures({
    date: '2026-11-16',
    kubernetes: 'v1.36.3',
    containerds: ['1.6.20', '2.4.2'],
    groups: [
      {
        title: 'One',
        rule: 'all of one',
        excluded: [{ tests: 'c', because: 'needs a module' }],
        tests: ['a', 'b'],
      },
    ],
    specs: [spec('a', 'passed'), spec('b', 'skipped')],
    expectations: { b: 'needs a cloud' },
  });
  expect(lines.join('\n')).toBe(`Kubernetes v1.36.3, containerd 1.6.20, 2.4.2, 2026-11-16:

| group | tests | passed |
| --- | --- | --- |
| One | all of one | **1 of 2** |

Left out of these groups:

- \`c\`: needs a module

Not passed:

- b (skipped): needs a cloud`);
});

test('no conformance test is expected to fail, and the page names every test that is expected not to pass', () => {
  const names = Object.keys(expectations);
  expect(names.filter((name) => name.includes('[Conformance]'))).toEqual([]);
  const page = readFileSync(join(import.meta.dirname, '../docs/conformance.md'), 'utf8');
  const reasons = Object.entries<string>({ ...expectations, ...critestExpectations });
  expect(reasons.filter(([name, why]) => !page.includes(name) || !page.includes(why))).toEqual([]);
  const because = groups.flatMap(({ excluded }) => excluded.map((one) => one.because));
  expect(because.filter((words) => !page.includes(words))).toEqual([]);
});
