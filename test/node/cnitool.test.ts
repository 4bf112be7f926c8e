/** The CNI project's own client as judge: libcni drives our plugin through real conflists. */
import { execFile } from 'node:child_process';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ensureGoTool } from '../../scripts/go-tools.mjs';
import { ensureShim } from '../../scripts/shim.mjs';
import { addNamespace, inside, type Namespace, sweepNamespaces } from '../kernel/namespaces.ts';
import { TestNode } from './test-node.ts';

const run = promisify(execFile);
const cnitool = join(await ensureGoTool('cnitool'), 'cnitool');

describe('cnitool', () => {
  let node: TestNode;
  let pod: Namespace;

  const lists = {
    alone: { cniVersion: '1.1.0', plugins: [{ type: 'cadastre' }] },
    old: { cniVersion: '0.4.0', plugins: [{ type: 'cadastre' }] },
    chained: {
      cniVersion: '1.0.0',
      // Debian's portmap (1.1.1) looks for its rules in the tables of both families, whatever a pod has.
      disableCheck: true,
      plugins: [
        { type: 'cadastre' },
        { type: 'portmap', capabilities: { portMappings: true } },
        { type: 'tuning', mac: '02:11:22:33:44:66' },
      ],
    },
    limited: {
      cniVersion: '1.0.0',
      plugins: [
        { type: 'cadastre', families: ['ipv4'] },
        {
          type: 'bandwidth',
          ingressRate: 8e6,
          ingressBurst: 8e5,
          egressRate: 8e6,
          egressBurst: 8e5,
        },
      ],
    },
    'other-ipam': {
      cniVersion: '1.0.0',
      plugins: [{ type: 'ptp', ipam: { type: 'cadastre', routes: [{ dst: '0.0.0.0/0' }] } }],
    },
  };

  beforeAll(async () => {
    await sweepNamespaces({ isOver: false });
    node = await TestNode.create(['10.79.0.0/24', 'fd79::/64']);
    await node.startAgent();
    mkdirSync(join(node.folder, 'net.d'));
    for (const [name, list] of Object.entries(lists)) {
      const path = join(node.folder, 'net.d', `${name}.conflist`);
      writeFileSync(path, JSON.stringify({ name, ...list }));
    }
  });
  beforeEach(async () => {
    pod = await addNamespace();
  });
  afterAll(async () => {
    await node.remove();
    await sweepNamespaces({ isOver: true });
  });

  /** Its standard output, or what it complained about. */
  async function ask(command: string, network: string): Promise<string> {
    const env = {
      ...process.env,
      CADASTRE_SOCKET: node.socketPath,
      CADASTRE_CNI_SPOOL: join(node.folder, 'state/cni-spool'),
      NETCONFPATH: join(node.folder, 'net.d'),
      CNI_PATH: `${dirname(ensureShim()!)}:/usr/lib/cni`,
      CAP_ARGS: '{"portMappings":[{"hostPort":8080,"containerPort":80,"protocol":"tcp"}]}',
    };
    const words = [`--net=${node.namespace.path}`, cnitool, command, network, pod.path];
    try {
      return (await run('nsenter', words, { env })).stdout;
    } catch (error) {
      return `FAILED: ${(error as { stderr: string }).stderr}`;
    }
  }

  /** What `bandwidth` needs of the kernel. */
  async function canLimit(): Promise<boolean> {
    try {
      await inside(node.namespace, 'ip link add probe type ifb');
      await inside(
        node.namespace,
        'tc qdisc add dev probe root tbf rate 8mbit burst 100kb latency 25ms',
      );
      return true;
    } catch {
      return false;
    } finally {
      await inside(node.namespace, 'ip link del probe').catch(() => undefined);
    }
  }

  test.for(Object.keys(lists))('%s: add, check, again, del, del', async (network, { skip }) => {
    if (network === 'limited') skip(!(await canLimit()), 'this kernel has no ifb or tbf');
    const result = JSON.parse(await ask('add', network)) as { ips: Array<{ address: string }> };
    await inside(node.namespace, `ping -c 1 -W 5 ${result.ips[0]!.address.split('/')[0]}`);
    if (network === 'limited') {
      expect(await inside(node.namespace, 'tc qdisc')).toMatch(
        /tbf 1: dev cad\S+ root .* rate 8Mbit/,
      );
    }
    expect(await ask('check', network)).toBe('');
    expect(await ask('add', network)).toContain('already has');
    expect(await ask('del', network)).toBe('');
    expect(await ask('del', network)).toBe('');
    expect(await node.allocations()).toEqual([]);
  });

  test('0.3.1, which has no check', async () => {
    const list = { name: 'oldest', cniVersion: '0.3.1', plugins: [{ type: 'cadastre' }] };
    writeFileSync(join(node.folder, 'net.d', 'oldest.conflist'), JSON.stringify(list));
    const { cniVersion, ips } = JSON.parse(await ask('add', 'oldest'));
    expect(cniVersion).toBe('0.3.1');
    expect(ips.map(({ version }: { version: string }) => version)).toEqual(['4', '6']);
    expect(await ask('check', 'oldest')).toContain('0.3.1');
    expect(await ask('del', 'oldest')).toBe('');
    expect(await node.allocations()).toEqual([]);
  });

  test('a broken list: the code is told in a sentence, and nothing is left', async () => {
    for (const [plugin, words] of [
      [{ type: 'cadastre', mtu: 'big' }, 'mtu is "big"; it must be a number from 68 to 65535'],
      [{ type: 'cadastre', families: ['ipx'] }, 'families is ["ipx"]'],
    ] as const) {
      const list = { name: 'broken', cniVersion: '1.1.0', plugins: [plugin] };
      writeFileSync(join(node.folder, 'net.d', 'broken.conflist'), JSON.stringify(list));
      expect(await ask('add', 'broken')).toContain(words);
    }
    expect(await node.allocations()).toEqual([]);
  });

  test('status and gc, of 1.1.0', async () => {
    expect(await ask('status', 'alone')).toBe('');
    await ask('add', 'alone');
    expect(await ask('gc', 'alone')).toBe('');
    expect(await node.allocations()).toEqual([]);
    await node.killAgent();
    // A moment for a restart; then it is said.
    expect(await ask('status', 'alone')).toBe('');
    utimesSync(`${node.socketPath}.ready`, new Date(0), new Date(0));
    expect(await ask('status', 'alone')).toContain('does not answer');
  });
});
