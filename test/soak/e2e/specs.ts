/** What a report of Ginkgo says of each test. */
import { readFileSync } from 'node:fs';

export interface Spec {
  name: string;
  state: string;
  /** What went wrong, first line only. */
  why: string;
  seconds: number;
}

interface SpecReport {
  LeafNodeType: string;
  ContainerHierarchyTexts: string[] | null;
  LeafNodeText: string;
  State: string;
  RunTime: number;
  Failure?: { Message?: string };
}

export function readSpecs(path: string): Spec[] {
  return specsOf(readFileSync(path, 'utf8'));
}

export function specsOf(report: string): Spec[] {
  const suites = JSON.parse(report) as { SpecReports: SpecReport[] | null }[];
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .map((spec) => ({
      name:
        spec.LeafNodeType === 'It'
          ? [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ')
          : spec.LeafNodeType,
      state: spec.State,
      why: spec.Failure?.Message ?? '',
      seconds: spec.RunTime / 1e9,
    }));
}

export interface Selection {
  chosen: string;
  excluded: { tests: string; because: string }[];
}

export function isChosen({ chosen, excluded }: Selection, name: string): boolean {
  return (
    new RegExp(chosen).test(name) && !excluded.some(({ tests }) => new RegExp(tests).test(name))
  );
}

/** What contradicts the expectations: `expected` says of each test that does not pass why. */
export function surprises(specs: Spec[], expected: Record<string, string>): string[] {
  const found = specs.flatMap(({ name, state, why }) => {
    const isExpected = Object.hasOwn(expected, name);
    if (state === 'passed') return isExpected ? [`${name}: passed, but is expected not to`] : [];
    return isExpected ? [] : [`${name}: ${state}: ${why}`];
  });
  const names = new Set(specs.map(({ name }) => name));
  const unknown = Object.keys(expected).filter((name) => !names.has(name));
  return [
    ...found,
    ...unknown.map((name) => `${name}: expected not to pass, but there is no such test`),
  ];
}
