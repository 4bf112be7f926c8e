import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendStatus } from '../../test/parts/fault-proxy.ts';
import { looseCrd, TestApi } from '../../test/parts/test-api.ts';
import { KubeClient } from '../kube/client.ts';
import { ciliumBgpKinds } from '../model/cluster-kinds.ts';
import { clusterState } from '../model/cluster-state.ts';
import { Surroundings } from './surroundings.ts';

const group = 'cilium.io';
const version = 'v2';

let api: TestApi;
let client: KubeClient;
let warnings: string[];

beforeEach(async () => {
  api = await TestApi.start([]);
  client = new KubeClient(api.access());
  warnings = [];
  const plural = 'ciliumbgpclusterconfigs';
  await api.register(looseCrd({ group, version, plural, kind: 'CiliumBGPClusterConfig' }));
  api.put(`/apis/${group}/${version}/${plural}/rack1`, { spec: { bgpInstances: [] } });
});
afterEach(async () => {
  await client.close();
  await api.stop();
});

const look = async (around: Surroundings) => {
  const isChanged = await around.look();
  return { isChanged, state: clusterState(around.items, {}, [], around.unread) };
};

test("Cilium's BGP objects that may not be read are not known, said once, and are no absence", async () => {
  const log = { warn: (_: object, words: string) => warnings.push(words) } as never;
  const around = new Surroundings({ client, log, kinds: ciliumBgpKinds });
  let mayRead = false;
  api.intercept = ({ path }, response) => {
    if (mayRead || !path.endsWith('/ciliumbgpclusterconfigs')) return false;
    sendStatus(response, 403, 'Forbidden');
    return true;
  };
  const refused = await look(around);
  expect(refused.state.unreadCiliumBgp).toEqual(['CiliumBGPClusterConfig']);
  expect((await look(around)).isChanged).toBe(false);
  expect(warnings).toEqual([
    'not known, for it may not be read: CiliumBGPClusterConfig: the API server does not let us look (forbidden)',
  ]);

  mayRead = true;
  const { isChanged, state } = await look(around);
  expect(isChanged).toBe(true);
  expect(state.unreadCiliumBgp).toBeUndefined();
  expect(state.ciliumBgp?.clusterConfigs).toMatchObject([{ name: 'rack1' }]);
});
