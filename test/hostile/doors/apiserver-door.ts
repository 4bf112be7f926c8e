/** The embedded API server: without its token nothing, with it no request that is a fault of ours. */
import { widgetCrd } from '../../apiserver/contract/objects.ts';
import { hostileRequests } from '../../apiserver/hostile-requests.ts';
import type { Random } from '../../soak/bgp-codec/mutator.ts';
import { Asker } from '../ask.ts';
import { hostileYaml } from '../hostile-yaml.ts';
import { inLanes, Tally } from '../tally.ts';
import { floodHttp } from './http-flood.ts';

export interface ApiAccess {
  host: string;
  port: number;
  ca: string;
  token: string;
}

const json = 'application/json';
const paths = [
  '/api/v1/nodes',
  '/apis/cadastre.dev/v1alpha1/ippools',
  '/api/v1/namespaces',
  '/version',
];

/** Whatever is sent, the answer is 401, and nothing has changed afterwards. */
export async function attackApiWithoutToken(
  access: ApiAccess,
  { random, seed, count }: { random: Random; seed: number; count: number },
): Promise<Tally> {
  const tally = new Tally('API, no token');
  const place = { ...access, kind: 'tls' } as const;
  const before = await stateOf(access);
  await floodHttp(tally, {
    ...{ place, random, paths, probe: '/livez', count: Math.ceil(count / 4) },
    headers: 'host: x\r\n',
  });
  const asker = new Asker(place);
  const guesses = [
    '',
    'Bearer',
    'Bearer x',
    `Bearer ${access.token.slice(1)}`,
    `Basic ${access.token}`,
  ];
  await inLanes(hostileRequests(seed, count), 8, async ({ method, path, type = json, body }) => {
    const authorization = random.pick(guesses);
    const headers = { 'content-type': type, ...(authorization === '' ? {} : { authorization }) };
    const { status } = await asker.ask({ method, path: asciiPath(path), headers, body });
    tally.count(String(status));
    // 0: refused while a large body was still being sent; 431: an address that is too long.
    if (![401, 400, 431, 0].includes(status))
      tally.breaks(`${status} for ${method} ${path.slice(0, 200)}`);
  });
  asker.close();
  if ((await stateOf(access)) !== before) tally.breaks('objects were changed without the token');
  return tally;
}

export async function attackApi(access: ApiAccess, seed: number, count: number): Promise<Tally> {
  const tally = new Tally('API, token');
  const asker = new Asker({ ...access, kind: 'tls' });
  const authorization = `Bearer ${access.token}`;
  const post = (path: string, body: object) =>
    asker.ask({
      method: 'POST',
      path,
      headers: { authorization, 'content-type': json },
      body: JSON.stringify(body),
    });
  await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd);
  for (const [title, body] of Object.entries(hostileYaml())) {
    const path = '/api/v1/namespaces/default/configmaps/hostile?fieldManager=x';
    const headers = { authorization, 'content-type': 'application/apply-patch+yaml' };
    const { status } = await asker.ask({ method: 'PATCH', path, headers, body });
    tally.count(String(status));
    // 413: more than 3 MiB.
    if (status !== 400 && status !== 413) tally.breaks(`${status} for YAML of many ${title}`);
  }
  await inLanes(hostileRequests(seed, count), 8, async (request) => {
    for (const { path, body } of request.before) await post(path, body);
    const { method, title, type = json, body } = request;
    const path = asciiPath(request.path);
    const headers = { authorization, 'content-type': type };
    const { status, text } = await asker.ask({ method, path, headers, body });
    tally.count(String(status));
    // The real one, too, says 500 for some refusals; a fault inside is an InternalError.
    if (status >= 500 && /InternalError/.test(text)) {
      tally.breaks(`${status} for "${title}": ${text.slice(0, 300)}`);
    }
    if (status === 0) tally.breaks(`no answer for "${title}"`);
  });
  asker.close();
  return tally;
}

/** Node's client sends no blanks and no control characters in a path. */
function asciiPath(path: string): string {
  return path.replace(/[^\x21-\x7e]/g, (one) => encodeURIComponent(one));
}

/** The objects that nobody but their owner may change. */
export async function stateOf(access: ApiAccess): Promise<string> {
  const asker = new Asker({ ...access, kind: 'tls' });
  const own = '/apis/cadastre.dev/v1alpha1';
  const lists = [
    ...['/api/v1/nodes', '/api/v1/namespaces', `${own}/ippools`, `${own}/nodeblocks`],
    ...[`${own}/bgppeers`, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
  ];
  const state: string[] = [];
  for (const path of lists) {
    const headers = { authorization: `Bearer ${access.token}` };
    const { text } = await asker.ask({ method: 'GET', path, headers });
    const { items } = JSON.parse(text) as {
      items: Array<{ metadata: { name: string; uid: string }; spec: unknown }>;
    };
    for (const { metadata, spec } of items) {
      state.push(JSON.stringify([path, metadata.name, metadata.uid, spec]));
    }
  }
  asker.close();
  return state.sort().join('\n');
}
