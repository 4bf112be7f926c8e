/** The console of `cadastre up`: everybody may look, whoever has the token may change. */
import { changeTokenHeader } from '../../../src/console/try-it.ts';
import { texts } from '../../apiserver/hostile-bodies.ts';
import type { Random } from '../../soak/bgp-codec/mutator.ts';
import { Asker } from '../ask.ts';
import { damagedSegment } from '../damage.ts';
import { inLanes, Tally } from '../tally.ts';
import { floodHttp } from './http-flood.ts';

interface ConsoleAttack {
  port: number;
  changeToken: string;
  random: Random;
  count: number;
}

const actions = [
  ...['add-node', 'drain-node', 'undrain-node', 'remove-node', 'kill-router', 'revive-router'],
  ...['second-allocator', '__proto__', 'constructor', '%00', 'toString'],
];
const reads = [
  ...['/api/nodes/', '/api/ribs/', '/api/whatif?drain=', '/api/whatif?lose-router=', '/assets/'],
  ...[
    '/api/events?from=',
    '/nodes/',
    '/consistency?drain=',
    '/',
    '/try',
    '/metrics?',
    '/api/state?',
  ],
];

export async function attackConsole(attack: ConsoleAttack): Promise<Tally> {
  const { port, changeToken, random, count } = attack;
  const tally = new Tally('console');
  const place = { kind: 'tcp', host: '127.0.0.1', port } as const;
  const own = `127.0.0.1:${port}`;
  const paths = [...reads, ...actions.map((action) => `/api/try/${action}`)];
  await floodHttp(tally, {
    ...{ place, random, paths, probe: '/livez' },
    headers: `host: ${own}\r\norigin: http://${own}\r\n`,
    count: Math.ceil(count / 4),
  });
  const asker = new Asker(place);
  const bodies = [
    ...Object.values(texts),
    ...['{"node":null}', '{"node":{}}', '{"on":"yes"}', '{"node":"nobody"}', '{"router":"nobody"}'],
  ];
  await inLanes(Array.from({ length: count }), 8, async () => {
    const path = `/api/try/${random.pick(actions)}`;
    const hasToken = random.below(2) === 0;
    // With the token nothing is sent that names a machine of the site.
    const body = random.pick(hasToken ? bodies : [...bodies, '{"node":"master1"}', '{"on":true}']);
    if (hasToken && /add-node|second-allocator/.test(path)) return;
    const given = hasToken
      ? changeToken
      : random.pick(['', 'x', changeToken.slice(1), `${changeToken}x`]);
    const headers = {
      host: own,
      origin: `http://${own}`,
      'content-type': 'application/json',
      [changeTokenHeader]: given,
    };
    const { status, text } = await asker.ask({ method: 'POST', path, headers, body });
    tally.count(`${status} ${hasToken ? 'with' : 'without'} token`);
    if (status >= 500) tally.breaks(`${status} for ${path} ${String(body).slice(0, 80)}: ${text}`);
    if (!hasToken && status >= 200 && status < 300)
      tally.breaks(`${path} without the token: ${text}`);
  });
  await inLanes(Array.from({ length: count }), 8, async () => {
    const path = random.pick(reads) + damagedSegment('master1', random);
    const { status, text } = await asker.ask({ method: 'GET', path, headers: { host: own } });
    tally.count(`${status} to a reader`);
    if (status >= 500) tally.breaks(`${status} for ${path.slice(0, 200)}: ${text.slice(0, 200)}`);
  });
  asker.close();
  return tally;
}
