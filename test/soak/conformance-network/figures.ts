/** What docs/conformance.md says of a whole run. */
import type { Spec } from '../e2e/specs.ts';

interface Group {
  readonly title: string;
  readonly rule: string;
  readonly excluded: readonly { readonly tests: string; readonly because: string }[];
  /** Those that ran. */
  readonly tests: readonly string[];
}

interface Run {
  /** Such as 2026-11-16. */
  readonly date: string;
  readonly kubernetes: string;
  readonly containerds: readonly string[];
  readonly groups: readonly Group[];
  readonly specs: readonly Spec[];
  readonly expectations: Readonly<Record<string, string>>;
}

export function networkFigures(run: Run): string[] {
  const stateOf = new Map(run.specs.map(({ name, state }) => [name, state]));
  const rows = run.groups.map(({ title, rule, tests }) => {
    const passed = tests.filter((name) => stateOf.get(name) === 'passed').length;
    return `| ${title} | ${rule} | **${passed} of ${tests.length}** |`;
  });
  const excluded = run.groups.flatMap((group) => group.excluded);
  const others = run.specs.filter(({ state }) => state !== 'passed');
  return [
    `Kubernetes ${run.kubernetes}, containerd ${run.containerds.join(', ')}, ${run.date}:`,
    '',
    '| group | tests | passed |',
    '| --- | --- | --- |',
    ...rows,
    ...(excluded.length === 0 ? [] : ['', 'Left out of these groups:', '']),
    ...excluded.map(({ tests, because }) => `- \`${tests}\`: ${because}`),
    ...(others.length === 0 ? [] : ['', 'Not passed:', '']),
    ...others.map(({ name, state }) => `- ${name} (${state}): ${run.expectations[name]}`),
  ];
}
