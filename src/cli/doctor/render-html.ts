/**
 * The report as one file to send around: no script, nothing fetched, readable on paper, light
 * and dark. The words are those of the terminal.
 */
import { plural } from '../../base/count-text.ts';
import { reasons } from '../../model/reasons.ts';
import { type DoctorFinding, type DoctorReport, doctorReasons } from '../../plan/doctor/finding.ts';
import type { RoutePicture } from '../../plan/doctor/route-picture.ts';
import type { TruthTable } from '../../plan/doctor/truth-row.ts';
import { html, Markup } from './markup.ts';
import {
  cures,
  findingCountText,
  headline,
  hurtLines,
  sameTogether,
  sourceAge,
} from './render-report.ts';
import { reportStyle } from './report-style.ts';
import { drawRoutes } from './route-drawing.ts';

export interface HtmlReport {
  report: DoctorReport;
  picture: RoutePicture;
  table: TruthTable;
  version: string;
  nowMs: number;
}

/** Nodes in order are left out of a table that would be longer. */
const mostRows = 60;

export function renderHtml({ report, picture, table, version, nowMs }: HtmlReport): string {
  const { checked, findings } = report;
  const at = `${new Date(nowMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const count = findingCountText(findings);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>Cadastre: ${count}</title>
<style>${new Markup(reportStyle)}</style>
</head>
<body>
<header>
<h1>${count}</h1>
<p>Checked ${plural(checked.nodes, 'node')}, ${plural(checked.blocks, 'block')} and ${plural(checked.routes, 'route')} on ${at}, by cadastre ${version}.</p>
</header>
<main>
<section>
<h2>Routes</h2>
${drawRoutes(picture)}
</section>
<section>
<h2>Findings</h2>
${findings.length === 0 ? html`<p>None in what was seen.</p>` : findingGroups(findings)}
</section>
<section>
<h2>What each source says</h2>
${truthTable(table)}
</section>
<section>
<h2>Sources</h2>
${sourceTable(report)}
</section>
</main>
</body>
</html>
`;
  return page.text;
}

function findingGroups(findings: readonly DoctorFinding[]): Markup[] {
  return doctorReasons.flatMap((reason) => {
    const of = findings.filter((finding) => finding.reason === reason);
    if (of.length === 0) return [];
    return html`<article class="group">
<h3><span class="mark ${of[0]!.severity}">${of[0]!.severity}</span> ${reason} <span class="count">${of.length}</span></h3>
<p>${reasons[reason]}</p>
<ul>
${of.map(place)}</ul>
${[...cures(of)].map(
  ([fix, where]) =>
    html`<p class="cure"><b>Cure</b> ${where.length === of.length ? '' : `${where.join(', ')}: `}${fix}</p>
`,
)}</article>
`;
  });
}

function place(finding: DoctorFinding): Markup {
  const says = sameTogether(finding.says).map(
    ([value, sources]) => html`<dt>${sources.join(', ')}</dt><dd>${value}</dd>`,
  );
  return html`<li><b>${headline(finding)}</b>
${hurtLines(finding).map((line) => html`<div class="hurt">${line}</div>`)}
<dl>${says}</dl></li>
`;
}

function truthTable({ columns, rows }: TruthTable): Markup {
  const differing = rows.filter(({ reasons: why }) => why.length > 0);
  const shown = rows.length <= mostRows ? rows : differing.slice(0, mostRows);
  const left = rows.length - shown.length;
  const mark = (column: (typeof columns)[number]) =>
    column.isSeen ? '' : column.isUnasked ? ' (not asked)' : ' (not seen)';
  return html`<div class="scroll"><table>
<thead><tr><th scope="col">node</th>${columns.map((column) => html`<th scope="col">${column.label}${mark(column)}</th>`)}</tr></thead>
<tbody>
${shown.map(
  ({ node, cells }) => html`<tr><th scope="row">${node}</th>${cells.map(
    ({ cidrs, state }) =>
      html`<td class="${state}">${cidrs.length === 0 ? (state === 'unseen' ? '?' : state === 'missing' ? 'missing' : '–') : cidrs.join(' ')}</td>`,
  )}</tr>
`,
)}</tbody></table></div>
${left === 0 ? '' : html`<p>${plural(left, 'node')} of ${rows.length} are left out${differing.length > shown.length ? '' : '; nothing differs there'}.</p>`}`;
}

function sourceTable({ sources }: DoctorReport): Markup {
  return html`<div class="scroll"><table>
<thead><tr><th scope="col">source</th><th scope="col">state</th><th scope="col">age</th><th scope="col">holds</th></tr></thead>
<tbody>
${sources.map(
  ({ name, state, ageSeconds, holds, note }) =>
    html`<tr><th scope="row">${name}</th><td>${state}</td><td>${state === 'unseen' ? '–' : sourceAge(ageSeconds)}</td><td>${note === undefined ? holds : `${holds}; ${note}`}</td></tr>
`,
)}</tbody></table></div>`;
}
