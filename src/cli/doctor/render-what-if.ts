import { plural } from '../../base/count-text.ts';
import { printable } from '../../base/printable.ts';
import type { WhatIf } from '../../plan/doctor/what-if-answer.ts';
import { wrapped } from '../table.ts';

const mostShown = 20;

/** The answer for people: the verdict first, then who, then every route before and after. */
export function renderWhatIf(answer: WhatIf, columns: number, isWide: boolean): string {
  const { action, safe, loses, moves, refused } = answer;
  const nodes = new Set(loses.map(({ node }) => node));
  const verdict = safe
    ? 'safe: nobody loses anything'
    : loses.length > 0
      ? `NOT safe: ${plural(nodes.size, 'node')} would lose ${lostText(loses)}`
      : `NOT safe: refused for ${refused.length}`;
  const lines = [printable(`${action}: ${verdict}`)];
  const section = <T>(title: string, all: readonly T[], linesOf: (one: T) => string[]) => {
    if (all.length === 0) return;
    lines.push('', title);
    const shown = isWide ? all : all.slice(0, mostShown);
    for (const one of shown) lines.push(...linesOf(one));
    const more = all.length - shown.length;
    if (more > 0) lines.push(`  and ${more} more (-o wide shows all)`);
  };
  section('Loses the network:', loses, ({ node, prefix, why, alternatives }) => [
    ...wrapped(`${node} loses ${prefix}: ${why}`, columns, '  '),
    ...wrapped(
      `left: ${alternatives.length === 0 ? 'nothing' : alternatives.join('; ')}`,
      columns,
      '      ',
    ),
  ]);
  section('Refused:', refused, ({ node, reason, detail }) =>
    wrapped(`${node === null ? '' : `${node}: `}${reason}: ${detail}`, columns, '  '),
  );
  section('Changes:', moves, ({ node, prefix, from, to, why }) => [
    ...wrapped(`${prefix} of ${node}: ${why}`, columns, '  '),
    ...wrapped(`before: ${from}`, columns, '      '),
    ...wrapped(`after:  ${to}`, columns, '      '),
  ]);
  return `${lines.join('\n')}\n`;
}

function lostText(loses: WhatIf['loses']): string {
  const services = loses.filter(({ isService }) => isService).length;
  const blocks = loses.length - services;
  return [
    ...(blocks === 0 ? [] : [plural(blocks, 'block')]),
    ...(services === 0 ? [] : [plural(services, 'address of Services', 'addresses of Services')]),
  ].join(' and ');
}
