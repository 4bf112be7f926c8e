/** The agent's Unix socket: the address API, and the calls of the CNI plugin. */
import { texts, values } from '../../apiserver/hostile-bodies.ts';
import type { Random } from '../../soak/bgp-codec/mutator.ts';
import { Asker } from '../ask.ts';
import { damagedSegment, damagedText } from '../damage.ts';
import { inLanes, Tally } from '../tally.ts';
import { floodHttp } from './http-flood.ts';

const config = JSON.stringify({
  cniVersion: '1.0.0',
  name: 'pods',
  type: 'cadastre',
  prevResult: { cniVersion: '1.0.0', interfaces: [], ips: [{ address: '10.5.112.9/32' }] },
  'cni.dev/valid-attachments': [{ containerID: 'c', ifname: 'eth0' }],
});
const commands = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION', 'BREW', ''];
const fields = [
  'owner',
  'families',
  'requested',
  'expiresInSeconds',
  'pod',
  'generation',
  '__proto__',
];
/** What the node has run out of is no fault of ours, and never an input's doing alone. */
const allowed = new Set([503, 507]);

export async function attackAgent(socket: string, random: Random, count: number): Promise<Tally> {
  const tally = new Tally('agent socket');
  const place = { kind: 'unix', path: socket } as const;
  const paths = ['/v1/addresses', '/v1/addresses/10.5.112.9?owner=x', '/cni', '/v1/status', '/'];
  await floodHttp(tally, {
    ...{ place, random, paths, headers: 'host: x\r\n', probe: '/v1/status' },
    count: Math.ceil(count / 4),
  });
  const asker = new Asker(place);
  const heed = (what: string, status: number, text: string) => {
    tally.count(String(status));
    if (status >= 500 && !allowed.has(status)) tally.breaks(`${status} for ${what}: ${text}`);
  };
  await inLanes(Array.from({ length: count }), 4, async () => {
    const { status, text, what } = random.below(2) === 0 ? await askAddresses() : await callCni();
    heed(what, status, text);
  });
  asker.close();
  return tally;

  async function askAddresses() {
    const body =
      random.below(3) === 0
        ? random.pick(Object.values(texts))
        : `{"owner":"hostile","${random.pick(fields)}":${random.pick(Object.values(values))}}`;
    const path = random.pick([
      ...['/v1/addresses', '/v1/addresses/hostile/claim', '/v1/addresses/10.5.112.9'],
      `/v1/addresses/${damagedSegment('10.5.112.9', random)}?owner=x`,
    ]);
    const method = random.pick(['POST', 'DELETE', 'GET', 'PUT']);
    const headers = { 'content-type': 'application/json' };
    const heard = await asker.ask({ method, path, headers, body });
    return { ...heard, what: `${method} ${path.slice(0, 100)} ${String(body).slice(0, 100)}` };
  }

  async function callCni() {
    const headers = {
      'cni-command': random.pick(commands),
      'cni-containerid': damagedSegment('c0ffee', random),
      'cni-netns': damagedSegment('/var/run/netns/x', random),
      'cni-ifname': damagedSegment('eth0', random),
      'cni-args': damagedSegment('K8S_POD_NAME=web;K8S_POD_UID=u', random),
    };
    const body = damagedText(config, random);
    const heard = await asker.ask({ method: 'POST', path: '/cni', headers, body });
    return {
      ...heard,
      what: `/cni ${JSON.stringify(headers).slice(0, 300)} ${body.slice(0, 200)}`,
    };
  }
}
