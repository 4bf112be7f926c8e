/**
 * deploy/ gives the operator and the agent all that they need on a machine, and nothing that
 * they do not: both run in a real containerd as their manifests say, and again without each
 * capability and each mount. What RBAC allows them is held by agent-rights.test.ts and
 * test/world/rights.test.ts.
 */
import { spawn } from 'node:child_process';
import { chownSync, existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askAgent } from '../../src/agent/ask-agent.ts';
import { readMachineId } from '../../src/agent/machine-id.ts';
import { addNamespace, inside, ip, type Namespace, sweepNamespaces } from '../kernel/namespaces.ts';
import { eventually } from '../world/eventually.ts';
import { paths } from '../world/objects.ts';
import type { ContainerProcess } from './container-process.ts';
import { type Container, type PodSpec, podOf, uncomment } from './pod-of-manifest.ts';
import { nodeAddress, nodeName, RestrictedSite, routerAddress } from './restricted-site.ts';

let site: RestrictedSite;
const socket = () => site.onHost('/run/cadastre/agent.sock');

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  site = await RestrictedSite.make();
}, 120_000);

afterAll(async () => {
  await site?.end();
  await sweepNamespaces({ isOver: true });
});

/** The container, its arguments or its pod changed. */
async function startAgent(
  change: (pod: PodSpec, agent: Container) => void = () => undefined,
  edit?: (text: string) => string,
): Promise<ContainerProcess> {
  const pod = podOf('deploy/agent.yaml', edit);
  const [agent] = pod.containers;
  change(pod, agent!);
  return site.start(pod, agent!);
}

async function whenReady(agent: ContainerProcess): Promise<void> {
  await eventually(async () => {
    if (agent.ended !== undefined) throw new Error(`it ended: ${agent.ended}\n${agent.log}`);
    const { agent: status } = (await askAgent(socket(), 'GET', '/v1/status')) as {
      agent: { reason: string };
    };
    expect(status.reason, agent.log).toBe('AgentReady');
  });
}

interface CniAnswer {
  ips?: Array<{ address: string }>;
  msg?: string;
  details?: string;
}

/** As the runtime calls it, with the plugin that the init container has installed. */
function cni(
  command: 'ADD' | 'DEL' | 'CHECK',
  pod: Namespace,
  { netns = `/var${pod.path}`, prevResult }: { netns?: string; prevResult?: CniAnswer } = {},
): Promise<CniAnswer> {
  const plugin = site.onHost('/opt/cni/bin/cadastre');
  const child = spawn('nsenter', [`--net=${site.node.path}`, plugin], {
    env: {
      CADASTRE_SOCKET: socket(),
      CADASTRE_CNI_SPOOL: site.onHost('/var/lib/cadastre/cni-spool'),
      CNI_COMMAND: command,
      CNI_CONTAINERID: pod.name,
      // containerd says /var/run, and the container has /run.
      CNI_NETNS: netns,
      CNI_IFNAME: 'eth0',
      CNI_PATH: site.onHost('/opt/cni/bin'),
    },
  });
  let said = '';
  child.stdout.on('data', (piece) => {
    said += piece;
  });
  const config = { cniVersion: '1.0.0', name: 'pods', type: 'cadastre', prevResult };
  child.stdin.end(JSON.stringify(config));
  return new Promise((resolve) => {
    child.on('close', () => resolve(said === '' ? {} : JSON.parse(said)));
  });
}

test('operator and shadow work as a user without any right, and write nothing', async () => {
  const { cluster } = site;
  await cluster.createNode(nodeName, { addresses: [nodeAddress, 'fd04:94::32'] });
  await site.addAccount('deploy/operator.yaml');
  const pod = podOf('deploy/operator.yaml');
  const operator = await site.start(pod, pod.containers[0]!);
  await eventually(async () => {
    expect((await cluster.call('GET', paths.pools)).status, operator.log).toBe(200);
  });
  await cluster.createPool('site', {
    cidrs: ['10.5.112.0/21', 'fd05::/48'],
    blockSize: { ipv4: 24, ipv6: 64 },
  });
  await eventually(async () => {
    const blocks = (await cluster.blocks()).map(({ spec }) => spec.cidr).sort();
    expect(blocks, operator.log).toEqual(['10.5.112.0/24', 'fd05::/64']);
  });

  await site.addAccount('deploy/shadow.yaml');
  site.relay.openIn(site.router.path, 'router');
  const shadowPod = podOf('deploy/shadow.yaml');
  const netnsPath = site.router.path;
  const shadow = await site.start(shadowPod, shadowPod.containers[0]!, {
    netnsPath,
    hostAddress: routerAddress,
  });
  await eventually(() => expect(shadow.log).toContain('caches synced'));
  for (const each of [operator, shadow]) {
    const none = '0000000000000000';
    const confined = { CapEff: none, CapBnd: none, NoNewPrivs: '1', Seccomp: '2', Uid: '65532' };
    expect(await each.kernelStatus()).toMatchObject(confined);
    expect(await each.stop()).toBe('exit 0');
  }
}, 120_000);

test('the agent serves pods, routes and routers with what deploy/agent.yaml gives it', async () => {
  await site.addAccount('deploy/agent.yaml');
  const { cluster, node } = site;
  await cluster.must('POST', '/api/v1/namespaces/kube-system/configmaps', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'bgp-config', namespace: 'kube-system' },
    data: {
      config: `peers:\n- { peer-address: ${routerAddress}, peer-asn: 64524, my-asn: 64513 }\n`,
    },
  });
  site.startRouter();

  const manifest = podOf('deploy/agent.yaml');
  const install = await site.start(manifest, manifest.initContainers![0]!);
  expect(await install.whenEnded(), install.log).toBe('exit 0');
  expect(existsSync(site.onHost('/etc/cni/net.d/10-cadastre.conflist'))).toBe(true);

  await inside(node, 'sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0');
  const agent = await startAgent();
  await whenReady(agent);
  // NET_ADMIN is bit 12, SYS_ADMIN bit 21; Seccomp 2 is a filter.
  const two = '0000000000201000';
  expect(await agent.kernelStatus()).toMatchObject({
    ...{ CapEff: two, CapPrm: two, CapBnd: two },
    ...{ NoNewPrivs: '1', Seccomp: '2', Uid: '0' },
  });

  // The way out of the cluster, without a word about it in the manifest.
  await eventually(async () => {
    expect(await inside(node, 'nft list table inet cadastre'), agent.log).toContain('masquerade');
  });

  // Forwarding; and a pod's IPv6, which some runtimes switch off.
  const pod = await addNamespace();
  await inside(pod, 'sysctl -qw net.ipv6.conf.default.disable_ipv6=1');
  const added = await cni('ADD', pod);
  expect(added.ips, JSON.stringify(added) + agent.log).toHaveLength(2);
  const addresses = added.ips!.map(({ address }) => address.split('/')[0]!);
  for (const address of addresses) {
    await eventually(() => inside(node, `ping -c 1 -W 5 ${address}`));
  }
  const forwarding = 'sysctl -n net.ipv4.ip_forward net.ipv6.conf.all.forwarding';
  expect(await inside(node, forwarding)).toBe('1\n1\n');
  expect(await ip(`-n ${node.name} route show proto 83`)).toContain('unreachable 10.5.112.0/24');
  await eventually(async () => expect(await site.learned()).toContain('10.5.112.0/24'));
  // It knows the machine by the host's machine-id, not by one of its image.
  const machine = await readMachineId(site.dir, {
    machineIdFiles: [site.onHost('/etc/machine-id')],
    firmwareFile: '/sys/class/dmi/id/product_uuid',
  });
  await eventually(async () => {
    const report = await cluster.must<{ spec: object }>('GET', `${paths.reports}/${nodeName}`);
    expect(report.spec).toMatchObject({ agent: { machine } });
  });

  // An update of the agent, this time with what only some ask for.
  expect(await agent.stop()).toBe('exit 0');
  const second = await startAgent(
    (_, { args }) =>
      args?.push('--masquerade=false', '--routing=vxlan', '--bgp-listen=0.0.0.0:179'),
    uncomment('- NET_BIND_SERVICE'),
  );
  await whenReady(second);
  await eventually(async () => {
    expect(await inside(node, 'nft list tables'), second.log).not.toContain('cadastre');
    expect(await ip(`-n ${node.name} -br link show cad_vxlan`)).toContain('cad_vxlan');
    expect(await inside(node, 'ss -Hltn')).toContain('0.0.0.0:179');
    expect(await site.learned()).toContain('10.5.112.0/24');
  });
  expect(await cni('CHECK', pod, { prevResult: added })).toEqual({});
  expect(await cni('DEL', pod)).toEqual({});
  expect((await ip(`-n ${node.name} -br link`)).match(/^cad\d\S+/gm)).toBeNull();
  expect(await second.stop()).toBe('exit 0');
}, 120_000);

test('the Pod Security levels are those of docs/agent.md', { timeout: 120_000 }, async () => {
  const { cluster } = site;
  /** What the API server itself objects to; undefined: nothing. */
  const objection = async (manifest: string, level: string) => {
    const namespace = `level-${level}`;
    const enforce = { 'pod-security.kubernetes.io/enforce': level };
    const core = '/api/v1/namespaces';
    await cluster.call('POST', core, { metadata: { name: namespace, labels: enforce } });
    const spec = podOf(`deploy/${manifest}.yaml`);
    const account = { metadata: { name: spec.serviceAccountName } };
    await cluster.call('POST', `${core}/${namespace}/serviceaccounts`, account);
    const pod = { metadata: { name: manifest }, spec };
    const { status, body } = await cluster.call<{ message: string }>(
      'POST',
      `${core}/${namespace}/pods?dryRun=All`,
      pod,
    );
    if (status === 201) return undefined;
    return body.message.replace(/^.*violates PodSecurity "[^"]*": /, '');
  };
  expect(await objection('shadow', 'restricted')).toBeUndefined();
  expect(await objection('operator', 'restricted')).toMatch(
    // On the host network every port of a container is one of the host.
    /^host namespaces \(hostNetwork=true\), hostPort \(container "operator" uses hostPort 9470\)$/,
  );
  expect(await objection('agent', 'privileged')).toBeUndefined();
  const ofAgent = (await objection('agent', 'baseline')) ?? '';
  for (const part of ['hostNetwork=true', 'hostPath', '"NET_ADMIN", "SYS_ADMIN"', 'spc_t']) {
    expect(ofAgent).toContain(part);
  }
  expect(ofAgent).not.toMatch(/privileged|hostPID/);
});

/** An agent that is gone afterwards, whatever became of it. */
async function withAgent(
  check: (agent: ContainerProcess) => Promise<unknown>,
  ...how: Parameters<typeof startAgent>
): Promise<void> {
  const agent = await startAgent(...how);
  try {
    await check(agent);
  } finally {
    await agent.stop('SIGKILL');
  }
}

async function refusedAdd(agent: ContainerProcess, sentence: string): Promise<void> {
  await whenReady(agent);
  const { msg } = await cni('ADD', await addNamespace());
  expect(msg).toContain(sentence);
}

async function refusedStart(agent: ContainerProcess, sentence: string): Promise<void> {
  expect(await agent.whenEnded(), agent.log).toMatch(/^exit [12]$/);
  expect(agent.log).toContain(sentence);
}

type Check = (agent: ContainerProcess) => Promise<unknown>;
const { containers } = podOf('deploy/agent.yaml');
const forwardingFile = 'ipv4/ip_forward';

/** What goes wrong without it: or else it is not needed. */
const withoutCapability: Record<string, Check> = {
  NET_ADMIN: (agent) => refusedAdd(agent, 'the kernel refused: create the interface cad'),
  SYS_ADMIN: (agent) => refusedAdd(agent, 'the kernel refused: enter a network namespace: EPERM'),
};

test.for(containers[0]?.securityContext?.capabilities?.add ?? [])(
  'the agent needs %s',
  { timeout: 120_000 },
  async (capability) => {
    const check = withoutCapability[capability];
    if (check === undefined) throw new Error(`say here what needs ${capability}`);
    await withAgent(check, (_, { securityContext }) => {
      const { capabilities } = securityContext!;
      capabilities!.add = capabilities!.add!.filter((name) => name !== capability);
    });
  },
);

const withoutMount: Record<string, Check> = {
  state: (agent) => refusedStart(agent, '/var/lib/cadastre'),
  run: (agent) => refusedStart(agent, '/run/cadastre'),
  netns: (agent) => refusedAdd(agent, 'there is no network namespace at /var/run/netns/'),
  'proc-sys-net': (agent) =>
    eventually(() => expect(agent.log).toContain(`/host/proc/sys/net/${forwardingFile}`)),
  'machine-id': (agent) => eventually(() => expect(agent.log).toContain('DuplicateAgent')),
};

test.for((containers[0]?.volumeMounts ?? []).map(({ name }) => name))(
  'the agent needs the mount %s',
  { timeout: 120_000 },
  async (mount) => {
    const check = withoutMount[mount];
    if (check === undefined) throw new Error(`say here what needs the mount ${mount}`);
    await withAgent(check, (_, container) => {
      container.volumeMounts = container.volumeMounts!.filter(({ name }) => name !== mount);
    });
  },
);

test('an agent without --proc-sys-net says what to do', { timeout: 120_000 }, async () => {
  await inside(site.node, 'sysctl -qw net.ipv4.ip_forward=0');
  await withAgent(
    (agent) =>
      eventually(() => {
        expect(agent.log).toContain(`write 1 to /proc/sys/net/${forwardingFile}: EROFS`);
        expect(agent.log).toContain('--proc-sys-net');
      }),
    (_, container) => {
      container.args = container.args!.filter((word) => !word.startsWith('--proc-sys-net'));
    },
  );
});

test("a folder that is not root's needs what the comment offers", {
  timeout: 120_000,
}, async () => {
  const install = async (edit?: (text: string) => string) => {
    const pod = podOf('deploy/agent.yaml', edit);
    const container = await site.start(pod, pod.initContainers![0]!);
    return [await container.whenEnded(), container.log];
  };
  chownSync(site.onHost('/opt/cni/bin'), 1000, 1000);
  expect(await install()).toEqual([
    'exit 1',
    'cadastre: user 0 may not write to /host/opt/cni/bin, which belongs to user 1000\n' +
      'Give the container the capability DAC_OVERRIDE, or the folder to root.',
  ]);
  const [ended, log] = await install(uncomment('add: [DAC_OVERRIDE]'));
  expect(ended, log).toBe('exit 0');
});

test('below port 1024 --bgp-listen needs what the comment offers', {
  timeout: 120_000,
}, async () => {
  await withAgent(
    (agent) => refusedStart(agent, 'NET_BIND_SERVICE'),
    (_, { args }) => args?.push('--bgp-listen=0.0.0.0:179'),
  );
});

test('a namespace named by a process needs what the comments offer', {
  timeout: 120_000,
}, async () => {
  const pod = await addNamespace();
  const process = spawn('nsenter', [`--net=${pod.path}`, 'sleep', '600']);
  const netns = `/proc/${process.pid}/ns/net`;
  const add = async (...offers: string[]) => {
    let answer: CniAnswer = {};
    const ask = async (agent: ContainerProcess) => {
      await whenReady(agent);
      answer = await cni('ADD', pod, { netns });
      if (answer.ips !== undefined) await cni('DEL', pod, { netns });
    };
    await withAgent(ask, undefined, uncomment(...offers));
    return answer;
  };
  try {
    const hint = expect.stringContaining('hostPID: true and the capability SYS_PTRACE');
    expect(await add()).toMatchObject({ msg: expect.stringContaining(netns), details: hint });
    expect(await add('hostPID: true')).toMatchObject({ details: hint });
    expect((await add('hostPID: true', '- SYS_PTRACE')).ips).toHaveLength(2);
  } finally {
    process.kill('SIGKILL');
  }
});

test("uninstalled with the agent's own rights, nothing is left but the pods that run", {
  timeout: 120_000,
}, async () => {
  const { cluster, node } = site;
  chownSync(site.onHost('/opt/cni/bin'), 0, 0);
  /** In a container like the agent's, which sees the folders of the init container too. */
  const runCni = async (...args: string[]) => {
    const pod = podOf('deploy/agent.yaml');
    const [agent, install] = [pod.containers[0]!, pod.initContainers![0]!];
    const folders = install.args!.filter((word) => word.startsWith('--'));
    agent.args = ['cni', ...args, ...folders];
    if (args[0] === 'uninstall') agent.args.push('-o', 'json');
    agent.volumeMounts!.push(...install.volumeMounts!);
    const container = await site.start(pod, agent);
    const ended = await container.whenEnded();
    return { ended, log: container.log };
  };
  expect((await runCni('install')).ended).toBe('exit 0');
  const agent = await startAgent((_, { args }) => args?.push('--routing=vxlan'));
  await whenReady(agent);
  const pod = await addNamespace();
  const added = await cni('ADD', pod);
  const address = added.ips![0]!.address.split('/')[0]!;
  await eventually(async () => {
    expect(await inside(node, 'nft list table inet cadastre'), agent.log).toContain('masquerade');
    expect(await ip(`-n ${node.name} -br link show cad_vxlan`)).toContain('cad_vxlan');
  });
  const status = `/api/v1/nodes/${nodeName}/status`;
  const condition = { type: 'CadastrePodAddressesFree', status: 'False', reason: 'BlockFull' };
  const other = { type: 'Ready', status: 'True', reason: 'KubeletReady' };
  const patched = { status: { conditions: [condition, other] } };
  await cluster.must('PATCH', status, patched, 'application/strategic-merge-patch+json');

  const refused = await runCni('uninstall');
  expect([refused.ended, refused.log]).toEqual(['exit 1', expect.stringContaining('is in use by')]);
  expect(await agent.stop()).toBe('exit 0');

  const { ended, log } = await runCni('uninstall');
  expect(ended, log).toBe('exit 0');
  expect(JSON.parse(log)).toMatchObject({
    removed: [
      '/host/etc/cni/net.d/10-cadastre.conflist',
      '/host/opt/cni/bin/cadastre',
      '2 routes (protocol 83)',
      'interface cad_vxlan',
      'nftables table inet cadastre',
      `condition CadastrePodAddressesFree of Node ${nodeName}`,
      `condition CadastreBlocksAssigned of Node ${nodeName}`,
      '/run/cadastre/agent.sock.lock',
      '/run/cadastre/agent.sock.ready',
    ],
    kept: ['2 routes to pods that run (protocol 84), with their interfaces'],
    problems: [],
  });
  const { status: left } = await cluster.must<{ status: { conditions: Array<{ type: string }> } }>(
    'GET',
    `/api/v1/nodes/${nodeName}`,
  );
  const types = left.conditions.map(({ type }) => type);
  expect(types).toContain('Ready');
  expect(
    types.filter((type) => type.startsWith('CadastreAgent') || type.startsWith('CadastrePod')),
  ).toEqual([]);
  expect(await ip(`-n ${node.name} route show proto 83`)).toBe('');
  expect(await inside(node, 'nft list tables')).not.toContain('cadastre');
  await inside(node, `ping -c 1 -W 5 ${address}`);

  const withState = await runCni('uninstall', '--state');
  expect(withState.ended, withState.log).toBe('exit 1');
  expect(withState.log).toContain('1 pods still have addresses of this node');
  expect(existsSync(site.onHost('/var/lib/cadastre/addresses.journal'))).toBe(true);
  await ip(`-n ${pod.name} link del eth0`);
  expect((await runCni('uninstall', '--state')).ended).toBe('exit 0');
  expect(existsSync(site.onHost('/var/lib/cadastre/addresses.journal'))).toBe(false);
});
