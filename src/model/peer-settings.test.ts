import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readPeerSettings } from './bgp-config/read-peer-settings.ts';
import { openYaml } from './bgp-config/yaml-reader.ts';
import { loadConfigMap } from './bgp-config-map.ts';
import { readBgpPeer } from './bgp-peer.ts';
import { peerProblems } from './peer-limits.ts';
import {
  type PeerSetting,
  type PeerSettings,
  peerSettingRows,
  withPeerDefaults,
} from './peer-settings.ts';

const least: PeerSettings = { address: '10.0.0.1', asn: 64524, localAsn: 64513 };
const sentences = (more: object) =>
  peerProblems({ ...least, ...more } as PeerSettings).map(({ sentence }) => sentence);

test('every default is within its own limits', () => {
  expect(peerProblems(withPeerDefaults(least))).toEqual([]);
  for (const [name, { clusterDefault }] of peerSettingRows) {
    if (clusterDefault !== undefined) expect(sentences({ [name]: clusterDefault })).toEqual([]);
  }
});

test.each<[object, string]>([
  [{ address: 'router' }, 'address is "router", not an IP address'],
  [{ address: undefined }, 'address is missing'],
  [{ asn: 0 }, 'asn is 0, not a whole number from 1 to 4294967295'],
  [{ localAsn: 2 ** 32 }, 'localAsn is 4294967296, not a whole number from 1 to 4294967295'],
  [{ port: 0.5 }, 'port is 0.5, not a whole number from 1 to 65535'],
  [{ routerId: '0.0.0.0' }, 'routerId is "0.0.0.0", not an identifier such as 192.0.2.1'],
  [{ localAddress: '2001:db8::1' }, 'localAddress and address are of different families'],
  [{ holdSeconds: 2 }, 'holdSeconds is 2, not 0 or a whole number from 3 to 65535'],
  [{ keepaliveSeconds: 0 }, 'keepaliveSeconds is 0, not a whole number from 1 to 21845'],
  [{ keepaliveSeconds: 90 }, 'keepaliveSeconds must be shorter than holdSeconds'],
  [{ password: 'x'.repeat(81) }, 'password has more than 80 octets'],
  [{ multihopTtl: 5, ttlSecurityHops: 1 }, 'multihopTtl and ttlSecurityHops exclude each other'],
  [{ families: [] }, 'families is [], not a list of families'],
  [{ nextHop: { ipv4: 'x' } }, 'nextHop is {"ipv4":"x"}, not an IP address for each family'],
  [{ isPassive: 'yes' }, 'isPassive is "yes", not true or false'],
])('%j is refused', (change, sentence) => {
  expect(sentences(change)).toEqual([sentence]);
});

test.each<object>([
  { holdSeconds: 0 },
  { holdSeconds: 3 },
  { holdSeconds: 0, keepaliveSeconds: 30 },
  { address: 'fe80::1%eth0', localAddress: 'fe80::2%eth0' },
  { gracefulRestartSeconds: 0 },
])('%j is fine', (change) => {
  expect(sentences(change)).toEqual([]);
});

const ways = ['object', 'file', 'configMap'] as const;

/** Whether a peer with these settings is taken when it is written in this way. */
function isTaken(way: (typeof ways)[number], settings: Record<string, unknown>): boolean {
  const written = Object.fromEntries(
    peerSettingRows.flatMap(([name, row]) => {
      const value = settings[name];
      if (value === undefined || row[way] === undefined) return [];
      return [[row[way], row.kind === 'seconds' && way === 'configMap' ? `${value}s` : value]];
    }),
  );
  if (way === 'object') return readBgpPeer({ metadata: {}, spec: written }).kind === 'peer';
  // JSON is YAML.
  const text = JSON.stringify(written);
  if (way === 'configMap') return loadConfigMap(`peers: [${text}]`).kind === 'config';
  const { document, reader } = openYaml(text);
  return readPeerSettings(reader, document.contents, '', 'file') !== undefined;
}

const numbers = peerSettingRows.filter(([, { kind }]) => kind === 'integer' || kind === 'seconds');

test.each(numbers)('the limits of %s are the same in every way in', (name, row: PeerSetting) => {
  const { minimum = 0, maximum = 0, orZero } = row;
  for (const value of [-1, 0, 1, 2, minimum - 1, minimum, minimum + 1, maximum, maximum + 1]) {
    const isFine = (value >= minimum && value <= maximum) || (orZero === true && value === 0);
    // Every keepalive time fits the longest hold time.
    const settings = { ...least, holdSeconds: 65535, [name]: value };
    expect(peerProblems(settings).length === 0, `${value}`).toBe(isFine);
    for (const way of ways) {
      if (row[way] === undefined) continue;
      expect(isTaken(way, settings), `${row[way]} ${value} in the ${way}`).toBe(isFine);
    }
  }
});

test('docs/bgp-speak.md lists every setting as the table has it', () => {
  const page = readFileSync(new URL('../../docs/bgp-speak.md', import.meta.url), 'utf8');
  const rows = page
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .filter(Boolean),
    )
    .filter((cells) => cells.length === 7 && /^`|^–/.test(cells[0]!));
  const code = (text: string | undefined) => (text === undefined ? '–' : `\`${text}\``);
  const limits = ({ minimum, maximum, orZero, maxOctets }: PeerSetting) =>
    maxOctets !== undefined
      ? `${maxOctets} octets`
      : maximum === undefined
        ? '–'
        : `${orZero ? '0, ' : ''}${minimum} to ${maximum}`;
  const byDefault = (row: PeerSetting) =>
    [
      row.default,
      row.clusterDefault === undefined ? undefined : `${row.clusterDefault} in a cluster`,
    ]
      .filter((one) => one !== undefined)
      .join('; ') || (row.isRequired ? 'required' : '–');
  expect(rows).toEqual(
    peerSettingRows
      .filter(([, row]) => row.file ?? row.object ?? row.configMap)
      .map(([, row]) => [
        code(row.file),
        code(row.object),
        code(row.configMap),
        limits(row),
        byDefault(row),
        row.isLive ? 'no' : 'yes',
        row.description,
      ]),
  );
});
