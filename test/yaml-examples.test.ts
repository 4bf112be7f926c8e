/** Every object of ours that a page shows is accepted by an API server, strictly; and bgp.md shows every setting. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type ApiServer, startApiServer } from '../src/apiserver/apiserver.ts';
import { silentLog } from '../src/base/log.ts';
import { fixedCredential } from '../src/kube/access.ts';
import { KubeClient } from '../src/kube/client.ts';
import { ensureCrds } from '../src/kube/crds.ts';
import { crds, definitions } from '../src/model/crds.ts';
import type { KubeObject } from '../src/model/object.ts';
import { peerSettingRows } from '../src/model/peer-settings.ts';
import { fencesOf, headingsOf, pages } from './docs-text.ts';
import { callApi } from './parts/api-call.ts';

type Example = KubeObject & { kind: string; metadata: { name: string } };

const objectsOf = (page: string) =>
  fencesOf(page)
    .filter(({ language }) => language === 'yaml')
    .flatMap(({ text }) => parseAllDocuments(text))
    .map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as Example;
    })
    .filter((object) => object?.apiVersion?.startsWith('cadastre.dev/'));

const examples = pages.flatMap((page) =>
  objectsOf(page).map((object) => ({
    page,
    kind: object.kind,
    name: object.metadata.name,
    object,
  })),
);

let api: ApiServer;
let client: KubeClient;
const dir = mkdtempSync(join(tmpdir(), 'cadastre-examples-'));
beforeAll(async () => {
  api = await startApiServer({ dataDir: dir, waitsForDisk: false });
  const { url: server, ca, token } = api;
  const credentials = fixedCredential({ authorization: `Bearer ${token}` });
  const origin = 'the test';
  client = new KubeClient({ server, tls: { ca }, credentials, namespace: 'default', origin });
  await ensureCrds(client, crds, silentLog);
});
afterAll(async () => {
  await client?.close();
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Unknown fields are refused. Nothing is kept, so that one example does not stand in the way of another. */
async function create(object: Example) {
  const { resource } = definitions[object.kind as keyof typeof definitions];
  const path = `/apis/${object.apiVersion}/${resource.plural}?fieldValidation=Strict&dryRun=All`;
  const { url, ca, token } = api;
  return callApi<{ message?: string }>({ url, ca, token }, 'POST', path, object);
}

describe('examples', () => {
  test('there are some of every kind that people write', () => {
    const kinds = new Set(examples.map(({ kind }) => kind));
    for (const kind of ['IPPool', 'LoadBalancerPool', 'BGPPeer', 'BGPAdvertisement']) {
      expect(kinds).toContain(kind);
    }
  });

  test.each(examples)('$page: $kind $name is accepted', async ({ object }) => {
    const { status, body } = await create(object);
    expect(body.message).toBeUndefined();
    expect(status).toBe(201);
  });

  test('one with a field that does not exist would be refused', async () => {
    const [{ object } = {}] = examples.filter(({ kind }) => kind === 'BGPPeer');
    const spec = { ...(object!.spec as object), holdtime: 9 };
    expect((await create({ ...object!, spec })).body.message).toContain('holdtime');
  });
});

describe('docs/bgp.md', () => {
  const settings = peerSettingRows.flatMap(([, { object }]) =>
    object === undefined ? [] : object,
  );
  const shown = (kind: string) =>
    new Set(
      objectsOf('docs/bgp.md')
        .filter((object) => object.kind === kind)
        .flatMap(({ spec }) => Object.keys(spec as object)),
    );

  test('shows every setting of a BGPPeer in an example', () => {
    expect([...shown('BGPPeer')].sort()).toEqual([...settings, 'nodeSelector'].sort());
  });

  test('has every setting that is not in each example in a heading', () => {
    const required = ['address', 'asn', 'localASN'];
    const headings = headingsOf('docs/bgp.md').flatMap(({ text }) => text.split(', '));
    expect(settings.filter((one) => !required.includes(one) && !headings.includes(one))).toEqual(
      [],
    );
  });

  test('shows every field of a BGPAdvertisement', () => {
    const { properties = {} } = definitions.BGPAdvertisement.spec;
    expect([...shown('BGPAdvertisement')].sort()).toEqual(Object.keys(properties).sort());
  });
});
