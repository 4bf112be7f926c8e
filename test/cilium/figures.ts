/** What docs/cilium.md says of a run. */
import type { Played } from './stage.ts';

export function figures(
  version: string,
  scenarios: ReadonlyArray<{ readonly name: string; readonly what: string }>,
  played: readonly Played[],
): string[] {
  const whatOf = (name: string) => scenarios.find((one) => one.name === name)?.what ?? '';
  return [
    `Cilium ${version}, ${new Date().toISOString().slice(0, 10)}:`,
    '',
    '| scenario | addresses in two places | pings lost by pods that do not move | findings | routes that FRR holds | took |',
    '| --- | --- | --- | --- | --- | --- |',
    ...played.map(
      ({ scenario, inTwoPlaces, pings, findings, routes, seconds }) =>
        `| ${scenario} | ${inTwoPlaces} | ${pings.lost} of ${pings.sent} | ${findings.join(', ') || 'none'} | ${routes} | ${Math.round(seconds)} s |`,
    ),
    '',
    ...played.flatMap(({ scenario, steps }) => [
      `**${scenario}**: ${whatOf(scenario)}.`,
      '',
      ...steps.map((words) => `- ${words}`),
      '',
    ]),
  ].slice(0, -1);
}
