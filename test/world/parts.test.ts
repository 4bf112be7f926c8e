import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../parts/apiserver.ts';
import { startControllerManager } from '../parts/controller-manager.ts';
import { kubectl } from '../parts/kubectl.ts';

interface Node {
  spec: { podCIDR?: string; podCIDRs?: string[] };
}

let api: ApiServer;

beforeAll(async () => {
  api = await startApiServer();
});

afterAll(() => api?.stop());

const refusal =
  'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid';

async function createNode(name: string, spec: Node['spec'] = {}): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec };
  expect((await api.call('POST', '/api/v1/nodes', node)).status).toBe(201);
}

async function patchNode(name: string, spec: object) {
  const answer = await api.call<Node & { message?: string }>('PATCH', `/api/v1/nodes/${name}`, {
    spec,
  });
  return {
    status: answer.status,
    podCIDRs: answer.body.spec?.podCIDRs,
    message: answer.body.message,
  };
}

async function podCidrsOf(name: string): Promise<string[] | undefined> {
  return (await api.call<Node>('GET', `/api/v1/nodes/${name}`)).body.spec.podCIDRs;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the real API server', () => {
  test('is the version we pinned', async () => {
    const answer = await api.call<{ gitVersion: string; major: string; minor: string }>(
      'GET',
      '/version',
    );
    expect(answer.body).toMatchObject({ gitVersion: 'v1.36.3', major: '1', minor: '36' });
    const words = await kubectl(api, ['version']);
    expect(words.stdout).toContain('Client Version: v1.36.3');
    expect(words.stdout).toContain('Server Version: v1.36.3');
  });

  test('knows its three users, and gives nobody nothing', async () => {
    const whoami = async (context: string) =>
      (
        await kubectl(api, ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], {
          context,
        })
      ).stdout;
    expect(await whoami('admin')).toBe('admin');
    expect(await whoami('certificate')).toBe('certificate-admin');
    expect(await whoami('nobody')).toBe('nobody');
    const refused = await kubectl(api, ['get', 'nodes'], { context: 'nobody' });
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain('User "nobody" cannot list resource "nodes"');
  });

  test('keeps its data over a restart, and over kill -9', async () => {
    await createNode('kept');
    const before = api.pids;
    await api.restart();
    expect(api.pids.apiServer).not.toBe(before.apiServer);
    expect(api.pids.etcd).not.toBe(before.etcd);
    expect(isAlive(before.apiServer)).toBe(false);
    expect(isAlive(before.etcd)).toBe(false);
    expect(await podCidrsOf('kept')).toBeUndefined();
    await patchNode('kept', { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] });
    await api.kill9();
    await expect(api.call('GET', '/readyz')).rejects.toThrow('ECONNREFUSED');
    await api.restart();
    expect(await podCidrsOf('kept')).toEqual(['10.1.0.0/24']);
  });
});

describe('Node.spec.podCIDRs goes from empty to a value once', () => {
  const first = { podCIDR: '10.2.0.0/24', podCIDRs: ['10.2.0.0/24'] };

  test('a change, or taking both fields away, is refused', async () => {
    await createNode('once');
    expect(await patchNode('once', first)).toMatchObject({ status: 200 });
    for (const spec of [
      { podCIDR: '10.2.1.0/24', podCIDRs: ['10.2.1.0/24'] },
      { podCIDR: null, podCIDRs: null },
    ]) {
      const answer = await patchNode('once', spec);
      expect(answer.status).toBe(422);
      expect(answer.message).toContain(refusal);
    }
    expect(await podCidrsOf('once')).toEqual(['10.2.0.0/24']);
  });

  test('podCIDR: null alone is a silent nothing', async () => {
    await createNode('null-alone', first);
    expect(await patchNode('null-alone', { podCIDR: null })).toMatchObject({ status: 200 });
    expect(await podCidrsOf('null-alone')).toEqual(['10.2.0.0/24']);
  });

  test('podCIDR A together with podCIDRs [B]: A wins silently', async () => {
    await createNode('disagree');
    const answer = await patchNode('disagree', {
      podCIDR: '10.2.2.0/24',
      podCIDRs: ['10.2.3.0/24'],
    });
    expect(answer).toMatchObject({ status: 200, podCIDRs: ['10.2.2.0/24'] });
  });

  test('IPv6 cannot follow IPv4: both come in one patch', async () => {
    await createNode('late-ipv6', first);
    const both = ['10.2.0.0/24', 'fd00:2::/64'];
    const late = await patchNode('late-ipv6', { podCIDR: both[0], podCIDRs: both });
    expect(late.status).toBe(422);
    await createNode('both');
    const together = await patchNode('both', { podCIDR: both[0], podCIDRs: both });
    expect(together).toMatchObject({ status: 200, podCIDRs: both });
  });

  test('host bits are refused by this version; older ones stored them as they were', async () => {
    await createNode('host-bits');
    const spec = { podCIDR: '10.10.5.3/24', podCIDRs: ['10.10.5.3/24'] };
    const answer = await patchNode('host-bits', spec);
    expect(answer.status).toBe(422);
    expect(answer.message).toContain('must not have bits set beyond the prefix length');
  });

  test('two of one family are refused', async () => {
    await createNode('same-family');
    const answer = await patchNode('same-family', {
      podCIDR: '10.2.4.0/24',
      podCIDRs: ['10.2.4.0/24', '10.2.5.0/24'],
    });
    expect(answer.status).toBe(422);
  });

  test('only a new Node of the same name takes another', async () => {
    await createNode('reborn', first);
    expect((await api.call('DELETE', '/api/v1/nodes/reborn')).status).toBe(200);
    await createNode('reborn');
    const answer = await patchNode('reborn', { podCIDR: '10.2.9.0/24', podCIDRs: ['10.2.9.0/24'] });
    expect(answer).toMatchObject({ status: 200, podCIDRs: ['10.2.9.0/24'] });
  });
});

test('a server without strict validation stores host bits as they are, with a warning', async () => {
  const lenient = await startApiServer({
    extraArgs: ['--feature-gates=StrictIPCIDRValidation=false'],
  });
  try {
    const spec = { podCIDR: '10.10.5.3/24', podCIDRs: ['10.10.5.3/24'] };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'host-bits' }, spec };
    const answer = await lenient.call<Node>('POST', '/api/v1/nodes', node);
    expect(answer.status).toBe(201);
    expect(answer.body.spec.podCIDRs).toEqual(['10.10.5.3/24']);
    expect(String(answer.headers.warning)).toContain('10.10.5.0/24');
  } finally {
    await lenient.stop();
  }
});

describe('kube-controller-manager', () => {
  test('gives a node a block per family out of its cluster CIDRs', async () => {
    // It refuses to run while any Node holds a CIDR outside its own range.
    await api.call('DELETE', '/api/v1/nodes');
    const manager = await startControllerManager(api, {
      clusterCidrs: ['10.50.0.0/16', 'fd50::/48'],
      maskIpv4: 24,
      maskIpv6: 64,
    });
    try {
      await createNode('served');
      await expect
        .poll(() => podCidrsOf('served'))
        .toEqual([
          expect.stringMatching(/^10\.50\.\d+\.0\/24$/),
          expect.stringMatching(/^fd50:.*\/64$/),
        ]);
    } finally {
      await manager.stop();
    }
    expect(isAlive(manager.pid)).toBe(false);
  });
});

test('stop leaves no process and no folder', async () => {
  const own = await startApiServer();
  const { etcd, apiServer } = own.pids;
  expect(isAlive(etcd) && isAlive(apiServer)).toBe(true);
  await own.stop();
  await own.stop();
  expect(isAlive(etcd) || isAlive(apiServer)).toBe(false);
  expect(existsSync(own.dir)).toBe(false);
});

test('a server that cannot start says why, with the end of its log', async () => {
  await expect(startApiServer({ extraArgs: ['--no-such-flag'] })).rejects.toThrow(
    /kube-apiserver ended \(exit 1\)[\s\S]*unknown flag: --no-such-flag/,
  );
});
