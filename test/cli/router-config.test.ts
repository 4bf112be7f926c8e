/** What a router team gets: neighbours, filters with lengths, limits; and the pages that show it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dialects } from '../../src/plan/routers/dialects/all.ts';
import { root } from './built-command.ts';
import { run } from './collecting-terminal.ts';

const site = join(root, 'test/cli/fixtures/routers');
const objects = readFileSync(join(site, 'cluster.yaml'), 'utf8');
const names = dialects.map(({ name }) => name);

const printed = (software: string, ...more: string[]) =>
  run(['router-config', '--router', 'tor1,tor1-v6', '--for', software, '--from', site, ...more]);
/** Of other objects, by IPv4 alone. */
const of = (text: string, ...more: string[]) =>
  run(['router-config', '--router', 'tor1', '--for', 'frr', '--from', '-', ...more], text);

describe('docs/routers', () => {
  const pageOf: Record<string, string> = {
    'cisco-ios': 'cisco',
    'cisco-nxos': 'cisco',
    h3c: 'huawei-h3c',
  };

  test.each(names)('the page about %s shows what is printed', async (software) => {
    const page = readFileSync(
      join(root, `docs/routers/${pageOf[software] ?? software}.md`),
      'utf8',
    );
    const { stdout, stderr, code } = await printed(software);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(page).toContain(`--for ${software}\n`);
    expect(page).toContain(`\`\`\`text\n${stdout}\`\`\``);
  });

  test('each page shows our side as the test has it', () => {
    const peers = objects.split('---\n').filter((one) => one.includes('kind: BGPPeer'));
    for (const page of ['frr', 'bird', 'arista-eos', 'cisco', 'junos', 'sonic', 'huawei-h3c']) {
      const text = readFileSync(join(root, `docs/routers/${page}.md`), 'utf8');
      expect(text).toContain(`\`\`\`yaml\n${peers.join('---\n')}\`\`\``);
    }
  });
});

describe('every dialect', () => {
  test.each(names)('%s says whether it was run', async (software) => {
    const { stdout } = await printed(software);
    const isRun = software === 'frr' || software === 'bird';
    expect(stdout.includes('Not run on a router of this maker')).toBe(!isRun);
  });

  test.each(names)(
    '%s names each node once for each session, and both limits',
    async (software) => {
      const { stdout } = await printed(software, '--max-prefixes', '77');
      for (const address of ['10.4.94.32', '10.4.94.21', 'fd00:94::32', 'fd00:94::21']) {
        expect(stdout).toContain(address);
      }
      expect(stdout.match(/\b77\b/g)).toHaveLength(2);
    },
  );

  test.each(names)('%s takes a range in the place of nodes', async (software) => {
    const { stdout } = await printed(software, '--listen-range', '10.4.94.0/24');
    expect(stdout).not.toContain('10.4.94.32');
    expect(stdout).toMatch(/10\.4\.94\.0(?:\/| )24/);
    expect(stdout).toContain('fd00:94::32');
  });

  test.each(names)(
    '%s lets nothing pass where there is no pool of the family',
    async (software) => {
      const ipv4 = objects.replace(', "fd00:5::/48"', '').replace(', ipv6: 64', '');
      const { stdout, stderr } = await run(
        ['router-config', '--router', 'tor1-v6', '--for', software, '--from', '-'],
        ipv4,
      );
      expect(stderr).toContain('no ipv6 prefix is accepted');
      expect(stdout).toMatch(
        /deny ::(?:\/0 le| 0 less-equal) 128|^ {2}reject;$|term rest then reject/m,
      );
      expect(stdout).not.toMatch(/permit [\da-f]*::/);
    },
  );
});

describe('filters', () => {
  test('a block of another size, or outside of the pools, is let in as it is', async () => {
    const odd = `${objects}---
apiVersion: cadastre.dev/v1alpha1
kind: NodeBlock
metadata: { name: 10-9-0-0-22 }
spec: { cidr: 10.9.0.0/22, pool: "", node: { name: master2, uid: u-2 } }
`;
    const { stdout } = await of(odd);
    expect(stdout).toContain('permit 10.9.0.0/22\n');
    expect(stdout).toContain('permit 10.5.112.0/21 ge 24 le 24\n');
  });

  test('only nodes that the peer selects are neighbours', async () => {
    const one = objects
      .replace(
        'families: [ipv4] }',
        'families: [ipv4], nodeSelector: { matchLabels: { rack: "83" } } }',
      )
      .replace(
        'name: master1, uid: u-1 }\nstatus',
        'name: master1, uid: u-1, labels: { rack: "83" } }\nstatus',
      );
    const { stdout } = await of(one);
    expect(stdout).toContain('description master1');
    expect(stdout).not.toContain('description master2');
  });

  test('iBGP: the same AS on both sides', async () => {
    const { stdout } = await of(objects.replace('localASN: 64513', 'localASN: 64524'));
    expect(stdout).toContain('neighbor CADASTRE remote-as 64524');
  });
});

describe('what is refused', () => {
  test('a router that no peer is, with those that there are', async () => {
    const { code, stderr } = await run([
      'router-config',
      '--router',
      'tor9',
      '--for',
      'frr',
      '--from',
      site,
    ]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('no BGPPeer has the name or address tor9');
    expect(stderr).toContain('tor1 (10.4.94.250)');
  });

  test('peers that are not one router', async () => {
    const { stderr } = await run(
      ['router-config', '--router', 'tor1,tor1-v6', '--for', 'frr', '--from', '-'],
      objects.replace('address: "fd00:94::250", asn: 64524', 'address: "fd00:94::250", asn: 64525'),
    );
    expect(stderr).toContain('tor1 is in AS 64524 and tor1-v6 in AS 64525: not one router');
  });

  test.each([
    [['--listen-range', '10.4.94.1/24'], 'has host bits set'],
    [['--router-id', 'fd00::1'], 'is not an IPv4 address'],
    [['--max-prefixes', '0'], '--max-prefixes'],
  ])('%j', async (flags, why) => {
    const { code, stderr } = await printed('frr', ...flags);
    expect(code).not.toBe(0);
    expect(stderr).toContain(why);
  });
});

test('-o json is the same as data, and by the address of the router', async () => {
  const { stdout } = await run([
    'router-config',
    '--router',
    '10.4.94.250',
    '--for',
    'bird',
    '--from',
    site,
    '-o',
    'json',
  ]);
  const data = JSON.parse(stdout);
  expect(data).toMatchObject({ kind: 'RouterConfig', software: 'bird', asn: 64524 });
  expect(data.groups).toHaveLength(1);
  expect(data.filters.ipv4[0]).toMatchObject({
    prefix: '10.5.112.0/21',
    minLength: 24,
    maxLength: 24,
  });
});

test('a password is asked for, and never printed', async () => {
  const configMap = `apiVersion: v1
kind: ConfigMap
metadata: { name: bgp-config, namespace: kube-system }
data:
  config.yaml: |
    peers:
      - { peer-address: 10.4.94.250, peer-asn: 64524, my-asn: 64513, password: not-for-print }
---
${objects
  .split('---\n')
  .filter((one) => !one.includes('kind: BGPPeer'))
  .join('---\n')}`;
  for (const format of ['table', 'json']) {
    const { stdout, stderr } = await run(
      ['router-config', '--router', '10.4.94.250', '--for', 'frr', '--from', '-', '-o', format],
      configMap,
    );
    expect(stdout + stderr).not.toContain('not-for-print');
    expect(stdout).toMatch(/TCP-MD5 password for CADASTRE: set the same one|"hasPassword": ?true/);
  }
});
