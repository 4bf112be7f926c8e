import { expect, test } from 'vitest';
import { itemsOf } from '../../../test/agreement/items.ts';
import { blockObject, nodeObject, poolObject } from '../../../test/register/objects.ts';
import { clusterState } from '../../model/cluster-state.ts';
import { apiVersion } from '../../model/keys.ts';
import type { KubeObject } from '../../model/object.ts';
import { evidenceOf } from '../doctor/evidence.ts';
import { judgeSurvey } from '../doctor/judge.ts';
import { survey } from '../doctor/survey.ts';
import { clusterStatus } from './cluster-status.ts';

interface Said {
  cidr: string;
  pods?: number;
  version?: string;
  ready?: boolean;
  state?: string;
}

function report(node: string, { cidr, pods = 0, version = '0.2.0', ...said }: Said): KubeObject {
  const { ready = true, state = 'Established' } = said;
  return {
    apiVersion,
    kind: 'NodeReport',
    metadata: { name: node, uid: `report-${node}` },
    spec: { node: { name: node, uid: `uid-${node}` }, uses: [{ cidr }] },
    status: {
      agentVersion: version,
      startedAt: '2024-01-01T00:00:00Z',
      blocks: [{ cidr, pool: 'p', draining: false, pods, resting: 1, total: '253' }],
      kernel: { wanted: 1, held: 1, repaired: 0, ownRoutes: [cidr], refused: [] },
      sessions: [
        {
          peer: 'tor1',
          address: '10.4.36.239',
          asn: 64524,
          localAsn: 64513,
          state,
          ...(state === 'Established' ? {} : { lastError: 'connection refused' }),
          announced: state === 'Established' ? [{ prefix: cidr, nextHop: '10.4.94.32' }] : [],
        },
      ],
      findings: [],
      conditions: [
        {
          type: 'Ready',
          status: ready ? 'True' : 'False',
          reason: ready ? 'AgentReady' : 'WaitingForBlocks',
          message: ready ? 'serving' : 'no block yet',
        },
      ],
    },
  };
}

function statusOf(objects: KubeObject[]) {
  const state = clusterState(itemsOf(objects), {});
  const seen = survey(evidenceOf(state, { nowMs: Date.parse('2024-02-01T00:00:00Z') }));
  return clusterStatus(seen, judgeSurvey(seen));
}

const pool = poolObject('p', { cidrs: ['10.5.112.0/22'] });
const served = (name: string, cidr: string, said: Partial<Said> = {}) => [
  nodeObject(name, { addresses: [`10.4.94.${name.length}`] }),
  blockObject(cidr, name, { pool: 'p' }),
  report(name, { cidr, ...said }),
];

test('a cluster in order: everybody reachable, addresses as the nodes count them, added up', () => {
  const status = statusOf([
    pool,
    ...served('a', '10.5.112.0/24', { pods: 14 }),
    ...served('bb', '10.5.113.0/24', { pods: 2, version: '0.1.0' }),
  ]);
  expect(status).toMatchObject({
    health: { reachable: 2, nodes: 2 },
    unreachable: [],
    agents: {
      ready: 2,
      reporting: 2,
      versions: [
        { version: '0.1.0', nodes: 1 },
        { version: '0.2.0', nodes: 1 },
      ],
    },
    mode: { name: 'ip-pool', why: 'NodeBlocks exist' },
    // Of each block the gateway, and one address in its cool-down.
    addresses: [{ family: 'ipv4', allocated: '20', total: '508', from: ['10.5.112.0/22'] }],
    pools: [{ name: 'p', cidrs: ['10.5.112.0/22'], assigned: 2, free: 2, capacity: 4 }],
    sessions: { established: 2, configured: 2, down: [] },
  });
});

test('a node that is not Ready, and one whose agent is not, are named with the reason', () => {
  const status = statusOf([
    pool,
    ...served('a', '10.5.112.0/24'),
    ...served('bb', '10.5.113.0/24', { ready: false }),
    nodeObject('ccc', { notReady: true }),
  ]);
  expect(status.health).toEqual({ reachable: 1, nodes: 3 });
  expect(status.unreachable.map(({ node, reason }) => [node, reason])).toEqual([
    ['bb', 'WaitingForBlocks'],
    ['ccc', 'NotReady'],
  ]);
});

test('a session that is down is named with its last error', () => {
  const { sessions } = statusOf([pool, ...served('a', '10.5.112.0/24', { state: 'Active' })]);
  expect(sessions).toEqual({
    established: 0,
    configured: 1,
    down: [
      {
        node: 'a',
        peer: 'tor1',
        address: '10.4.36.239',
        state: 'Active',
        lastError: 'connection refused',
      },
    ],
  });
});

test('without agents there are blocks and findings, and no addresses', () => {
  const status = statusOf([nodeObject('a', { podCIDRs: ['10.0.0.0/24'] })]);
  expect(status).toMatchObject({
    agents: { ready: 0, reporting: 0, versions: [] },
    mode: { name: 'kubernetes' },
    addresses: [],
    blocks: 1,
    pools: [],
  });
});
