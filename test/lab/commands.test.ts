/** The commands on a small site: what they print, what they refuse, and what they leave behind. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import {
  closeLabs,
  lab,
  labName,
  labsFolder,
  linksHere,
  mustLab,
  openLabs,
  tracesOf,
} from './lab-program.ts';

const small = 'test/lab/fixtures/small.yaml';
const quick = ['--api-server', 'embedded', '--operators', '1'];
const name = labName('small');

beforeAll(openLabs);
afterAll(closeLabs);

test('what is wrong with a topology is told with its line, and nothing is made', async () => {
  const bad = labName('bad');
  const { code, stderr } = await lab(['up', 'test/lab/fixtures/wrong.yaml', '--name', bad]);
  expect(code).toBe(1);
  expect(stderr).toContain('wrong.yaml:8: routers.r1.softwear: unknown key "softwear"');
  writeFileSync(
    join(labsFolder, 'almost.yaml'),
    `about: x
ipam: ip-pool
subnets:
  rack: { cidr: 10.4.94.0/24, gateway: 10.4.95.1 }
  other: { cidr: 10.4.94.128/25, gateway: 10.4.94.129 }
outside: { subnet: nowhere, address: 10.9.25.120 }
routers:
  r1: { address: 10.4.36.1, asn: 64524, subnets: { rack: 10.4.94.1 } }
nodes:
  n1: { subnet: rack, address: 10.4.83.11 }
peers:
  - { router: r2, asn: 64513 }
`,
  );
  const second = await lab(['up', join(labsFolder, 'almost.yaml'), '--name', bad]);
  expect(second.code).toBe(1);
  const told = second.stderr.split('\n').map((line) => line.replace(/^.*almost\.yaml:/, ''));
  expect(told).toEqual(
    expect.arrayContaining([
      '4: subnets.rack: 10.4.95.1 is not in rack (10.4.94.0/24)',
      '5: subnets.other: 10.4.94.128/25 overlaps 10.4.94.0/24 of rack',
      '5: subnets.other: no router is connected to other, so it has no gateway',
      '10: nodes.n1: 10.4.83.11 is not in rack (10.4.94.0/24)',
      '6: outside: there is no subnet "nowhere"; there are: rack, other',
      '12: peers[0]: there is no router "r2"; there are: r1',
    ]),
  );
  expect(tracesOf(bad)).toEqual([]);
});

test('a name that means nothing is refused with those there are', async () => {
  const topology = await lab(['up', 'incidnet']);
  expect(topology).toMatchObject({ code: 2 });
  expect(topology.stderr).toContain(
    'There are by-demand, dual-stack, incident, overlay, partition, pools, spares, two-racks; or give the path of a file',
  );
  const story = await lab(['replay', 'incident']);
  expect(story).toMatchObject({ code: 2 });
  expect(story.stderr).toContain('There are incident-then, incident-now, rack-move');
  const without = await lab(['status', labName('nobody')]);
  expect(without).toMatchObject({ code: 1, stdout: '' });
  expect(without.stderr).toContain('there is no lab');
  expect((await lab(['down', labName('nobody')])).stderr).toContain('there is no lab');
  expect((await lab(['exec', 'n1', '--', 'true'])).stderr).toContain('cadastre lab up incident');
});

test('up, status, exec, pod and down, as one types them', async () => {
  const before = await linksHere();
  await mustLab(['up', small, '--name', name, ...quick]);
  expect(await linksHere()).toEqual(before);

  const again = await lab(['up', small, '--name', name, ...quick]);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain(`there is a lab ${name} already`);

  const status = JSON.parse((await mustLab(['status', '-o', 'json'])).stdout);
  expect(status).toMatchObject({
    kind: 'LabStatus',
    name,
    isUp: true,
    operators: [{ name: 'operator-1', isRunning: true }],
    nodes: [{ name: 'n1', reason: 'AgentReady', blocks: ['10.5.112.0/24'] }],
    routers: [{ software: 'bird', routes: [{ prefix: '10.5.112.0/24', nextHop: '10.4.94.11' }] }],
    pods: [{ name: 'n1-1', answersOutside: true }],
  });
  const { stdout: table } = await mustLab(['status']);
  expect(table).toContain('r1      10.4.36.1  64524  bird      10.5.112.0/24 via 10.4.94.11 (n1)');

  const { stdout: address } = await mustLab(['pod', 'n1', 'web']);
  expect(address).toMatch(/^10\.5\.112\.\d+\n$/);
  await mustLab(['exec', 'outside', '--', 'ping', '-c', '1', '-W', '5', address.trim()]);
  const nodes = await mustLab(['exec', 'control', '--', 'cadastre', 'blocks', '-o', 'name']);
  expect(nodes.stdout).toContain('nodeblock.cadastre.dev/10-5-112-0-24');
  expect((await lab(['exec', 'n1', '--', 'sh', '-c', 'exit 7'])).code).toBe(7);
  expect((await lab(['exec', 'n9', '--', 'true'])).stderr).toContain(
    'There are fabric, control, outside, r1, n1, pod-n1-1, pod-web.',
  );
  expect((await lab(['pod', 'n1', 'web'])).stderr).toContain('there is a pod web already');
  expect((await lab(['pod', 'n9', 'web2'])).stderr).toContain('Its nodes are n1.');
  await mustLab(['pod', 'n1', 'web', '--delete']);
  const agent = await mustLab(['exec', 'n1', '--', 'cadastre', 'status', '-o', 'json']);
  expect(JSON.parse(agent.stdout)).toMatchObject({ agent: { node: 'n1', ready: true } });

  // A story of another site is refused; nothing happens to the lab.
  const story = await lab(['replay', 'traceroute', '--name', name]);
  expect(story).toMatchObject({ code: 2 });
  expect(story.stderr).toContain(`traceroute needs topology two-racks; ${name} is a lab of`);

  const { stderr } = await mustLab(['down']);
  expect(stderr).toMatch(/is gone: 6 namespaces, \d+ processes/);
  expect(tracesOf(name)).toEqual([]);
  expect(await linksHere()).toEqual(before);
}, 180_000);

test('a story that does not go as expected says so and exits with 1', async () => {
  const faulty = labName('faulty');
  await mustLab(['up', 'incident', '--routers', 'frr', '--name', faulty, ...quick]);
  // A router that holds what nobody owns: a network statement of its own.
  const socket = join(labsFolder, faulty, 'routers/r239');
  await mustLab([
    ...['exec', '--name', faulty, 'r239', '--', 'vtysh', '--vty_socket', socket],
    ...['-c', 'conf t', '-c', 'router bgp 64524', '-c', 'address-family ipv4 unicast'],
    ...['-c', 'network 10.5.119.0/24'],
  ]);
  const { code, stdout } = await lab([
    ...['replay', 'incident-now', '--name', faulty, '--patience', '2'],
  ]);
  expect(code).toBe(1);
  expect(stdout).toContain('FAILED  every router holds exactly the register');
  expect(stdout).toContain('r239 holds 10.5.119.0/24 via 0.0.0.0, which differs from the register');
  expect(stdout).toMatch(/incident-now on frr: 2 of \d+ expectations failed/);
  await mustLab(['down', faulty]);
  expect(tracesOf(faulty)).toEqual([]);
}, 180_000);

test('down after a crash removes exactly what was made', async () => {
  const program = await cadastreProgram();
  const crashed = labName('crash');
  // Whatever it was busy with: killed as soon as the routers and the API server are there.
  const child = spawn(
    process.execPath,
    [program, 'lab', 'up', small, '--name', crashed, ...quick],
    { env: { ...process.env, CADASTRE_LABS: labsFolder }, stdio: 'ignore' },
  );
  const gone = new Promise((resolve) => child.once('exit', resolve));
  await eventually(() => {
    expect(existsSync(join(labsFolder, crashed, 'processes/api-server.json'))).toBe(true);
  });
  child.kill('SIGKILL');
  await gone;
  const status = await lab(['status', crashed]);
  expect(status.stdout).toContain('not up: see cadastre lab down');
  // A namespace that only looks like ours stays.
  const stranger = `cadastre-${crashed}-stranger`;
  execFileSync('ip', ['netns', 'add', stranger]);
  try {
    await mustLab(['down', crashed]);
    expect(tracesOf(crashed)).toEqual([stranger]);
  } finally {
    execFileSync('ip', ['netns', 'del', stranger]);
  }
}, 120_000);

test('three times up and down leave nothing behind', async () => {
  const links = await linksHere();
  const often = labName('often');
  for (let round = 0; round < 3; round++) {
    await mustLab(['up', small, '--name', often, ...quick]);
    await mustLab(['down', often]);
    expect(tracesOf(often)).toEqual([]);
  }
  expect(await linksHere()).toEqual(links);
}, 240_000);
