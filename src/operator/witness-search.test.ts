import { expect, test } from 'vitest';
import {
  blockObject,
  nodeObject,
  poolObject,
  registerOf,
  reportObject,
} from '../../test/register/objects.ts';
import { silentLog } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { readNodeReport } from '../model/node-report.ts';
import type { KubeObject } from '../model/object.ts';
import { noHeardRouters } from '../plan/blocks/heard-routers.ts';
import { WitnessSearch } from './witness-search.ts';

const cidr = '10.0.0.0/24';
const pool = poolObject('pool', { cidrs: ['10.0.0.0/16'] });
const cooling = blockObject(cidr, 'n', { phase: 'Cooling' });
const fenced = reportObject('n', { fenced: [cidr] });

/** A search whose cache says one thing and whose API server another. */
function searchFor(cached: KubeObject, stored: KubeObject[]) {
  const register = registerOf([pool, cooling]);
  const asked: string[] = [];
  const get = async ({ kind }: { kind: string }, name: string) => {
    asked.push(kind);
    const found = stored.find((one) => one.kind === kind && one.metadata?.name === name);
    if (found !== undefined) return found;
    const missing = { status: 404, reason: 'NotFound', outcome: 'refused' } as const;
    throw new ApiError({ request: 'get', ...missing });
  };
  const search = new WitnessSearch({
    client: { get } as unknown as KubeClient,
    clock: { wallMs: () => 0, monotonicMs: () => 0 },
    log: silentLog,
    metrics: new Metrics(),
    register,
    nodeStore: { put: () => undefined },
    reportStore: { get: () => readNodeReport(cached), put: () => undefined },
    attribution: { look: async () => undefined },
    heard: noHeardRouters,
    peers: () => [],
  });
  const [block] = register.blocks.values();
  return { find: () => search.find(block!, 300), asked };
}

test('a fence in the cache is asked for again of the API server: first the Node, then the report', async () => {
  const { find, asked } = searchFor(fenced, [fenced]);
  expect(await find()).toMatchObject({ kind: 'witness', by: 'Fenced' });
  expect(asked).toEqual(['Node', 'NodeReport']);
});

test('an agent that uses its block again has taken the fence out of its report: the cache was late', async () => {
  const { find } = searchFor(fenced, [reportObject('n', {})]);
  expect(await find()).toMatchObject({ kind: 'awaiting' });
});

test('a Node that is there after all is not gone, whatever the report says', async () => {
  const { find } = searchFor(fenced, [nodeObject('n'), fenced]);
  expect(await find()).toMatchObject({ kind: 'awaiting' });
});

test('where nobody speaks in memory the API server is not asked', async () => {
  const { find, asked } = searchFor(reportObject('n', {}), []);
  expect(await find()).toMatchObject({ kind: 'awaiting' });
  expect(asked).toEqual([]);
});
