import type { LabStatus } from '../../lab/status.ts';
import { renderTable } from '../table.ts';

/** A lab on one page: who is there, and what every router holds. */
export function statusTable(status: LabStatus, columns: number): string {
  const nodeOf = new Map(status.nodes.map(({ name, address }) => [address, name]));
  const operators = status.operators.map(
    ({ name, isRunning }) => `${name} ${isRunning ? 'runs' : 'does not run'}`,
  );
  const parts = [
    `Lab ${status.name} (topology ${status.topology})${status.isUp ? '' : ', not up: see cadastre lab down'}\n` +
      `  folder      ${status.folder}\n` +
      `  kubeconfig  ${status.kubeconfig} (from inside: cadastre lab exec control -- kubectl …)\n` +
      `  operators   ${operators.join(', ') || 'none'}\n`,
    renderTable(
      ['NODE', 'ADDRESS', 'BLOCKS', 'SESSIONS', 'STATE'],
      status.nodes.map(({ name, address, blocks, sessions, reason, detail }) => {
        const up = sessions.filter(({ state }) => state === 'Established').length;
        const words = reason === 'AgentReady' ? reason : `${reason}: ${detail}`;
        return [name, address, blocks.join(' ') || '-', `${up}/${sessions.length}`, words];
      }),
      columns,
    ),
    renderTable(
      ['ROUTER', 'ADDRESS', 'AS', 'SOFTWARE', 'HOLDS'],
      status.routers.flatMap(({ name, address, asn, software, isRunning, routes }) => {
        const head = [name, address, String(asn ?? '-'), software];
        if (!isRunning) return [[...head, 'its software does not run']];
        if (routes.length === 0) return [[...head, '-']];
        return routes.map(({ prefix, nextHop }, at) => [
          ...(at === 0 ? head : ['', '', '', '']),
          `${prefix} via ${nextHop}${nodeOf.has(nextHop) ? ` (${nodeOf.get(nextHop)})` : ''}`,
        ]);
      }),
      columns,
    ),
    renderTable(
      ['POD', 'NODE', 'ADDRESSES', 'FROM OUTSIDE'],
      status.pods.map(({ name, node, addresses, answersOutside }) => [
        name,
        node,
        addresses.join(' '),
        answersOutside ? 'answers' : 'no answer',
      ]),
      columns,
    ),
  ];
  return parts.join('\n');
}
