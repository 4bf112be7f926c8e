import { expect, test } from 'vitest';
import { cleanWorlds, node } from '../../../test/doctor/worlds.ts';
import type { Evidence } from '../../plan/doctor/evidence.ts';
import { judgeSurvey, reportOf } from '../../plan/doctor/judge.ts';
import { routePicture } from '../../plan/doctor/route-picture.ts';
import { survey } from '../../plan/doctor/survey.ts';
import { truthTable } from '../../plan/doctor/truth-table.ts';
import { renderHtml } from './render-html.ts';

function pageOf(evidence: Evidence): string {
  const seen = survey(evidence);
  const findings = judgeSurvey(seen);
  return renderHtml({
    report: reportOf(seen, findings),
    picture: routePicture(seen, findings),
    table: truthTable(seen, findings),
    version: '1.2.3',
    nowMs: Date.parse('2026-02-01T12:00:00Z'),
  });
}

const clean = cleanWorlds['cluster-pool of Cilium'];

test('a clean site is drawn without anything red, and says so', () => {
  const page = pageOf(clean());
  expect(page).toContain('no finding in what was seen');
  expect(page).toContain('on 2026-02-01 12:00 UTC, by cadastre 1.2.3');
  expect(page).not.toMatch(/class="way wrong"|class="box unreached"|class="(differs|missing)"/);
});

test('nothing of it is fetched and no script is in it', () => {
  const page = pageOf(clean());
  expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\son\w+=|href=|src=/i);
  expect(page).toContain("default-src 'none'");
});

const hostile = [
  '</title><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onload='alert(1)",
  '</style><script>x</script>',
  '<!--',
  '&lt;b&gt;\u202e\u0000',
];

test.each(hostile)('a name like %j is text wherever it stands', (name) => {
  const evidence = clean();
  const routers = evidence.routers.map((table) => ({ ...table, router: name }));
  const nodes = [...evidence.nodes, node(name, '10.0.0.9')];
  const sources = [
    { name, kind: 'rib', state: 'seen', ageSeconds: 0, holds: name, note: name } as const,
  ];
  const page = pageOf({ ...evidence, nodes, routers, sources });
  // Every tag of the page is one of ours, and none has an attribute that acts.
  const tags = page.replace(/<style>[^<]*<\/style>/, '').match(/<[^>]*>/g) ?? [];
  const ours =
    /^<\/?(!doctype|html|head|meta|title|style|body|header|main|section|article|figure|figcaption|svg|g|rect|path|text|h[1-3]|p|ul|li|dl|dt|dd|div|span|b|table|thead|tbody|tr|th|td)\b/;
  expect(tags.filter((tag) => !ours.test(tag))).toEqual([]);
  const values = tags.map((tag) => tag.replace(/"[^"]*"/g, '""'));
  expect(values.filter((tag) => /\son\w+|'/.test(tag))).toEqual([]);
  expect(page).not.toContain('\u202e');
  expect(page).not.toContain('\u0000');
});

test('of many nodes those with a wrong way are drawn, and the rest is counted', () => {
  const evidence = clean();
  const more = Array.from({ length: 500 }, (_, at) =>
    node(`n${at}`, `10.9.${Math.floor(at / 200)}.${(at % 200) + 1}`),
  );
  const page = pageOf({ ...evidence, nodes: [...evidence.nodes, ...more] });
  expect(page).toContain('502 nodes are not drawn');
  expect(page).toContain('502 nodes of 502 are left out; nothing differs there.');
});
