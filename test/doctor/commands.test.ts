/** doctor and whatif as one types them: what may be wrong with the input, and what exit codes say. */
import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { run } from '../cli/collecting-terminal.ts';
import { agedFixtures, countsOf, doctor } from './told.ts';

const fixtures = agedFixtures();
afterAll(() => fixtures.remove());
const clean = ['--from', fixtures.path('clean')];
const rib = (name: string, file: string) => [
  '--rib',
  `${name}=${fixtures.path(`ribs/${file}.dump`)}`,
];

describe('exit codes', () => {
  test('0: nothing is wrong with what was seen; and it says what was not', async () => {
    const { code, stdout } = await run(['doctor', ...clean]);
    expect(code).toBe(0);
    expect(stdout).toContain('no finding in what was seen');
    expect(stdout).toContain('not seen: routers: no router was shown');
  });

  test('1: findings; a router that holds nothing cuts everybody off', async () => {
    const { code, report } = await doctor(...clean, ...rib('tor1', 'gobgp-empty'));
    expect(code).toBe(1);
    expect(countsOf(report)).toEqual({ Blackhole: 2 });
    expect(report.sources.find(({ name }) => name === 'tor1')?.note).toBe(
      'it holds nothing at all',
    );
  });

  test('3: a part of a table says nothing about what is missing, and is no all-clear', async () => {
    const cut = fixtures.path('part.txt');
    writeFileSync(
      cut,
      'tor1#show ip route\nCodes: C - connected, B - BGP\n\nC        10.4.94.0/24 is directly connected, Vlan94\n',
    );
    const { code, report } = await doctor(...clean, '--rib', `tor1=${cut}`);
    expect(countsOf(report)).toEqual({});
    expect(code).toBe(3);
    const tor1 = report.sources.find(({ name }) => name === 'tor1');
    expect(tor1?.state).toBe('partly');
    expect(tor1?.note).toContain("begins with the router's prompt and does not end with it");
  });

  test('of several VRFs the default one counts, and --rib-vrf names another', async () => {
    const { report } = await doctor(...clean, ...rib('tor1', 'nxos-bgp'));
    const note = report.sources.find(({ name }) => name === 'tor1')?.note;
    expect(note).toContain('other VRFs were not read (--rib-vrf): RED');
    const red = await doctor(...clean, ...rib('tor1', 'nxos-bgp'), '--rib-vrf', 'RED');
    expect(red.report.sources.find(({ name }) => name === 'tor1')?.holds).toBe(
      'Cisco NX-OS: 1 route (ipv4 only)',
    );
  });

  test('a table of the other family says nothing about this one', async () => {
    const { code, report } = await doctor(...clean, ...rib('tor1', 'gobgp-ipv6'));
    expect(code).toBe(0);
    expect(report.sources.find(({ name }) => name === 'tor1')?.holds).toBe(
      'GoBGP: 4 routes (ipv6 only)',
    );
  });

  test.each([
    [['doctor', '--from', '/no/such/place'], '--from /no/such/place: no such file or folder'],
    [
      ['doctor', ...clean, '--rib', 'tor1=/no/such/file'],
      '--rib tor1=/no/such/file: there is no such file',
    ],
    [['doctor', ...clean, '--rib', 'tor1'], '--rib=tor1 is not of the form ROUTER=FILE'],
    [['doctor', ...clean, '--rib', '=x'], '--rib==x is not of the form ROUTER=FILE'],
    [['doctor', ...clean, '--ipam', 'nonsense'], '--ipam=nonsense is not a mode Cadastre knows'],
    [
      ['doctor', ...clean, '--cilium-version', 'latest'],
      '--cilium-version=latest is not a version like 1.11',
    ],
    [['doctor', ...clean, '--listen', 'nowhere'], '--listen=nowhere is not an address and port'],
    [['doctor', ...clean, '--listen', 'bgp=127.0.0.1:0'], 'lacks as=OURS or peer-as=THEIRS'],
    [
      ['doctor', ...clean, '--listen', 'bmp=127.0.0.1:0', '--listen-seconds', '0'],
      '--listen-seconds=0 is not a whole number',
    ],
    [
      ['doctor', '--from', fixtures.path('incident/before/cilium.yaml')],
      'there is no Node in what was given',
    ],
    [['whatif', 'drain', 'x', ...clean], 'whatif drain: no answer'],
    [['whatif', 'shrink-pool', 'cluster-pool', '10.1.0.1/24', ...clean], 'has host bits set'],
    [['whatif', 'add-nodes', 'many', ...clean], '"many" is not a whole number'],
    [['whatif', 'relabel', 'a', 'rack', ...clean], '"rack" is neither key=value nor key-'],
    [['whatif', 'drain', 'a', '--from', '/no/such/place'], 'no such file or folder'],
    [['whatif', 'lose-router', 'tor9', ...clean], 'there is no router tor9 (none was shown)'],
  ])(
    '2: %j could not be answered, and nothing is printed that looks like an answer',
    async (argv, words) => {
      const { code, stdout, stderr } = await run(argv);
      expect(stderr).toContain(words);
      expect(stdout).toBe('');
      expect(code).toBe(2);
    },
  );

  test('2: a dump that is cut short is refused by name', async () => {
    const path = fixtures.path('cut.dump');
    writeFileSync(path, '{"vrfId":0,"routerId":"10.0.0.1","routes":{"10.1.0.0/24":[{"valid":tr');
    const { code, stdout, stderr } = await run(['doctor', ...clean, '--rib', `tor1=${path}`]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`--rib tor1=${path}: the JSON ends in the middle`);
  });
});

describe('whatif', () => {
  test('exits 0 when safe, 1 when not', async () => {
    const dumps = [...rib('tor1', 'frr-empty')];
    const safe = await run(['whatif', 'add-nodes', '3', ...clean, ...dumps]);
    expect(safe.code).toBe(0);
    expect(safe.stdout).toMatch(/^add-nodes 3: safe/);
    const unsafe = await run(['whatif', 'remove-pool', 'cluster-pool', ...clean]);
    expect(unsafe.code).toBe(1);
    expect(unsafe.stdout).toMatch(/^remove-pool cluster-pool: NOT safe/);
  });
});

test('a router whose routes lead to no node is said to say little', async () => {
  const { report } = await doctor(...clean, ...rib('tor1', 'frr-ipv4'));
  const source = report.sources.find(({ name }) => name === 'tor1');
  expect(source?.note).toBe('none of its routes leads to a node');
});

test('whatif says which way it could not see', async () => {
  const { code, stderr } = await run(['whatif', 'add-nodes', '1', ...clean]);
  expect(code).toBe(0);
  expect(stderr).toContain('not seen: routers: no router was shown');
});

describe('forms', () => {
  test('several files of one router are one table', async () => {
    const { report } = await doctor(
      ...clean,
      ...rib('tor1', 'frr-ipv4'),
      ...rib('tor1', 'frr-ipv6'),
    );
    const source = report.sources.find(({ name }) => name === 'tor1');
    expect(source?.holds).toBe('FRR: 10 routes');
  });

  test('yaml says what json says; name names the findings', async () => {
    const argv = ['doctor', ...clean, ...rib('tor1', 'openbgpd-empty'), '-o'];
    const { stdout: yaml } = await run([...argv, 'yaml']);
    expect(yaml).toContain('kind: DoctorReport');
    const { stdout: names } = await run([...argv, 'name']);
    expect(names).toBe('Blackhole/10.1.0.0/24\nBlackhole/10.1.1.0/24\n');
  });

  test.each(['doctor', 'whatif'])('%s --help shows examples', async (command) => {
    const { code, stdout } = await run([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('Examples:');
  });
});
