import { ageText } from '../../base/age-text.ts';
import { plural } from '../../base/count-text.ts';
import { reasons } from '../../model/reasons.ts';
import {
  type DoctorFinding,
  type DoctorReport,
  doctorReasons,
  type Source,
} from '../../plan/doctor/finding.ts';
import { wrapped } from '../table.ts';

/** How many of one reason are shown before the rest is only counted. */
const mostShown = 12;

/**
 * The report for people: to be read in a terminal, and to be pasted into a chat
 * with the router team. First what was looked at, then each fault once in a
 * sentence, with every place where it was found and the cure.
 */
export function renderReport(report: DoctorReport, columns: number, isWide: boolean): string {
  const { checked, findings, sources } = report;
  const lines = [
    `Checked ${plural(checked.nodes, 'node')}, ${plural(checked.blocks, 'block')}, ${plural(checked.routes, 'route')}: ${findingCountText(findings)}.`,
    '',
    ...sourceLines(sources, columns),
    ...causeLines(report.causes, columns),
  ];
  for (const reason of doctorReasons) {
    const of = findings.filter((finding) => finding.reason === reason);
    if (of.length === 0) continue;
    lines.push('', ...wrapped(`${reason} (${of.length}): ${reasons[reason]}`, columns, ''));
    const shown = isWide ? of : of.slice(0, mostShown);
    for (const finding of shown) lines.push(...findingLines(finding, columns));
    const more = of.length - shown.length;
    if (more > 0) lines.push(`  and ${more} more (-o wide shows all)`);
    for (const [fix, where] of cures(shown)) {
      const at = where.length === shown.length ? '' : `${where.join(', ')}: `;
      lines.push(...wrapped(`cure: ${at}${fix}`, columns, '  '));
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Only what stands for several findings: of one alone its own lines say as much. */
function causeLines(causes: DoctorReport['causes'], columns: number): string[] {
  const several = causes.filter(({ findings }) => findings.length > 1);
  if (several.length === 0) return [];
  const lines = several.flatMap((cause) =>
    wrapped(
      `${cause.title} (${plural(cause.findings.length, 'finding')}${hurtText(cause)})`,
      columns,
      '  ',
    ),
  );
  return ['', 'Causes, most pods hurt first:', ...lines];
}

function hurtText({
  podsHurt,
  nodesHurt,
  podsAtRisk,
  nodesAtRisk,
}: DoctorReport['causes'][number]) {
  const words = (pods: number, nodes: readonly string[]) =>
    pods > 0
      ? `${plural(pods, 'pod')} on ${plural(nodes.length, 'node')}`
      : plural(nodes.length, 'node');
  if (nodesHurt.length > 0) return `; hurts ${words(podsHurt, nodesHurt)}`;
  return nodesAtRisk.length > 0 ? `; one event away for ${words(podsAtRisk, nodesAtRisk)}` : '';
}

export function findingCountText(findings: readonly DoctorFinding[]): string {
  if (findings.length === 0) return 'no finding in what was seen';
  const by = (['critical', 'warning', 'info'] as const).flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [`${count} ${severity}`];
  });
  return `${plural(findings.length, 'finding')} (${by.join(', ')})`;
}

function sourceLines(sources: readonly Source[], columns: number): string[] {
  const seen = sources.filter(({ state }) => state !== 'unseen');
  const width = Math.max(6, ...seen.map(({ name }) => name.length));
  const ages = seen.map(({ ageSeconds }) => sourceAge(ageSeconds));
  const ageWidth = Math.max(3, ...ages.map((age) => age.length));
  const lines = [`${'SOURCE'.padEnd(width)}  ${'AGE'.padEnd(ageWidth)}  HOLDS`];
  seen.forEach(({ name, holds, note }, at) => {
    const start = `${name.padEnd(width)}  ${(ages[at] ?? '').padEnd(ageWidth)}  `;
    const words = note === undefined ? holds : `${holds}; ${note}`;
    lines.push(...wrapped(words, columns, start));
  });
  const unseen = sources.filter(({ state }) => state === 'unseen');
  for (const { name, note } of unseen)
    lines.push(...wrapped(`not seen: ${name}: ${note}`, columns, ''));
  return lines;
}

export function sourceAge(seconds: number | null): string {
  if (seconds === null) return '?';
  return seconds < 5 ? 'now' : ageText(seconds * 1000);
}

function findingLines(finding: DoctorFinding, columns: number): string[] {
  const { says, severity } = finding;
  const records = sameTogether(says).map(([value, sources]) => `${sources.join(', ')}: ${value}`);
  const lines = wrapped(`${headline(finding)}  [${severity}]`, columns, '  ');
  if (records.length > 0) lines.push(...wrapped(records.join(' | '), columns, '      '));
  for (const line of hurtLines(finding)) lines.push(...wrapped(line, columns, '      '));
  return lines;
}

/** Whom it hurts, now or by what. */
export function hurtLines({ hurts }: DoctorFinding): string[] {
  const now = hurts.now.length > 0 ? [`hurt now: ${names(hurts.now)}`] : [];
  const later = hurts.if.map(({ event, nodes, prefixes }) => {
    const who = nodes.length === 0 ? 'that node' : names(nodes);
    const what = prefixes.length === 0 ? 'gets no block' : `loses ${prefixes.join(', ')}`;
    return `if ${event}: ${who} ${what}`;
  });
  return [...now, ...later];
}

/** Sources that say the same are named together. */
export function sameTogether(says: Readonly<Record<string, string>>): Array<[string, string[]]> {
  const by = new Map<string, string[]>();
  for (const [source, value] of Object.entries(says)) {
    by.set(value, [...(by.get(value) ?? []), source]);
  }
  return [...by];
}

const names = (list: readonly string[]) =>
  list.length <= 8 ? list.join(', ') : `${list.slice(0, 8).join(', ')} and ${list.length - 8} more`;

/** Each reason in the words in which one would say it. */
export function headline({ reason, node, prefix, owner, says }: DoctorFinding): string {
  switch (reason) {
    case 'Detour':
      return `${prefix} of ${owner} enters at ${node}`;
    case 'Orphan':
      return `${prefix} is announced by ${node}${owner === null ? '' : `; it was ${owner}'s`}`;
    case 'Stale':
      return `${prefix}${owner === null ? '' : `, which was ${owner}'s`}`;
    case 'UnknownPrefix':
      return `${prefix} is announced by ${node}`;
    case 'SecondAllocator':
      return Object.keys(says).join(' and ');
    case 'PoolNearlyFull':
      return `pool ${says.pool}: ${says.free}`;
    case 'PoolsDiffer':
      return `${prefix} of IPPool ${says.IPPool?.split(' ', 1)[0]}`;
    case 'NoPoolForGroup':
      return `nodes with ${says.labels}`;
    case 'OverlapsNetwork':
      if (node === null) return `pool ${says.pool}`;
      return owner === null ? `${prefix}, around an address of ${node}` : `${prefix} of ${node}`;
    case 'StrandedBlock':
      return `${prefix} is held for ${node}`;
    default:
      return prefix === null ? `${owner ?? node}` : `${prefix} of ${owner ?? node}`;
  }
}

export function cures(findings: readonly DoctorFinding[]): Map<string, string[]> {
  const by = new Map<string, string[]>();
  for (const { fix, prefix, node } of findings) {
    if (fix === '') continue;
    by.set(fix, [...(by.get(fix) ?? []), prefix ?? node ?? '']);
  }
  return by;
}
