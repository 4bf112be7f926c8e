/**
 * What is wrong with a setting of a peer, the same for every way in. A problem is a
 * clause that follows the setting's name, by the name it has where it was written:
 * `hold-time is 2, not 0 or a whole number from 3 to 65535`.
 */
import { parseAddress } from '../net/address.ts';
import { type Family, families } from '../net/family.ts';
import {
  type PeerSetting,
  type PeerSettingName,
  type PeerSettings,
  peerSettingRows,
  peerSettings,
} from './peer-settings.ts';
import { isMapped } from './plain-address.ts';

/** Where a setting was written; undefined: by a program, in the names of the table. */
export type PeerWayIn = 'object' | 'file' | 'configMap';

/** What a setting is called there. */
export function peerSettingName(setting: PeerSettingName, way?: PeerWayIn): string {
  const row: PeerSetting = peerSettings[setting];
  return (way === undefined ? undefined : row[way]) ?? setting;
}

/** What is wrong with one value by the limits of its row; undefined if nothing is. */
export function peerValueProblem(
  row: PeerSetting,
  value: unknown,
  way?: PeerWayIn,
): string | undefined {
  const not = (what: string) => `is ${JSON.stringify(value) ?? value}, not ${what}`;
  switch (row.kind) {
    case 'integer':
    case 'seconds':
      return isWithin(row, value) ? undefined : not(rangeText(row));
    case 'timer':
      return typeof value === 'number' && value >= 0 ? undefined : not('a time in seconds');
    case 'flag':
      return typeof value === 'boolean' ? undefined : not('true or false');
    case 'text':
      if (typeof value !== 'string') return not('text');
      // Its value may be a secret.
      return new TextEncoder().encode(value).length > (row.maxOctets ?? Infinity)
        ? `has more than ${row.maxOctets} octets`
        : undefined;
    case 'address':
      if (familyOf(value) === undefined) return not('an IP address');
      // As CEL's isIP has it.
      if (way === 'object' && isMapped(`${parseAddress(`${value}`)}`)) return not('an IP address');
      // An interface is of one machine; a BGPPeer or a ConfigMap is for many.
      return (way === 'object' || way === 'configMap') && String(value).includes('%')
        ? not('an IP address without an interface')
        : undefined;
    case 'routerId':
      return familyOf(value) === 'ipv4' && value !== '0.0.0.0'
        ? undefined
        : not('an identifier such as 192.0.2.1');
    case 'families':
      if (!Array.isArray(value) || value.length === 0) return not('a list of families');
      return value.every((one) => families.includes(one)) ? undefined : not('ipv4, ipv6 or both');
    case 'nextHops':
      return Object.values(value as object).every((one) => familyOf(one) !== undefined)
        ? undefined
        : not('an IP address for each family');
  }
}

/** `a whole number from 1 to 65535`. */
function rangeText({ minimum, maximum, orZero }: PeerSetting): string {
  return `${orZero ? '0 or ' : ''}a whole number from ${minimum} to ${maximum}`;
}

function isWithin({ minimum = 0, maximum = Infinity, orZero }: PeerSetting, value: unknown) {
  if (!Number.isInteger(value)) return false;
  const number = Number(value);
  return (number >= minimum && number <= maximum) || (orZero === true && number === 0);
}

/** The family of an address, with or without the zone of a link-local one. */
function familyOf(value: unknown): Family | undefined {
  if (typeof value !== 'string') return undefined;
  return parseAddress(value.split('%')[0] ?? '')?.family;
}

/** Two settings that do not go together. `about` is the one to point at. */
export interface PeerRule {
  readonly about: PeerSettingName;
  /** The same for the API server, in the names of the BGPPeer object. */
  readonly cel: string;
  isKept(settings: Partial<PeerSettings>): boolean;
  /** `name` is what a setting is called where it was written. */
  sentence(name: (setting: PeerSettingName) => string): string;
}

export const peerRules: readonly PeerRule[] = [
  {
    about: 'localAddress',
    cel: '!has(self.localAddress) || !isIP(self.localAddress) || !isIP(self.address) || ip(self.localAddress).family() == ip(self.address).family()',
    isKept: ({ localAddress, address }) =>
      localAddress === undefined || familyOf(localAddress) === familyOf(address),
    sentence: (name) => `${name('localAddress')} and ${name('address')} are of different families`,
  },
  {
    about: 'ttlSecurityHops',
    cel: '!has(self.multihopTTL) || !has(self.ttlSecurityHops)',
    isKept: ({ multihopTtl, ttlSecurityHops }) =>
      multihopTtl === undefined || ttlSecurityHops === undefined,
    sentence: (name) => `${name('multihopTtl')} and ${name('ttlSecurityHops')} exclude each other`,
  },
  {
    about: 'keepaliveSeconds',
    cel: '!has(self.keepaliveSeconds) || !has(self.holdSeconds) || self.holdSeconds == 0 || self.keepaliveSeconds < self.holdSeconds',
    isKept: ({ keepaliveSeconds = 0, holdSeconds = peerSettings.holdSeconds.default }) =>
      holdSeconds === 0 || keepaliveSeconds < holdSeconds,
    sentence: (name) => `${name('keepaliveSeconds')} must be shorter than ${name('holdSeconds')}`,
  },
];

export interface PeerProblem {
  /** The setting to point at. */
  readonly about: PeerSettingName;
  readonly sentence: string;
}

/** Everything that is wrong with a peer; how settings go together is looked at when each is right. */
export function peerProblems(settings: Partial<PeerSettings>, way?: PeerWayIn): PeerProblem[] {
  const name = (setting: PeerSettingName) => peerSettingName(setting, way);
  const problems = peerSettingRows.flatMap(([about, row]): PeerProblem[] => {
    const value = settings[about];
    const missing = row.isRequired === true ? 'is missing' : undefined;
    const clause = value === undefined ? missing : peerValueProblem(row, value, way);
    return clause === undefined ? [] : [{ about, sentence: `${name(about)} ${clause}` }];
  });
  if (problems.length > 0) return problems;
  return peerRules
    .filter((rule) => !rule.isKept(settings))
    .map(({ about, sentence }) => ({ about, sentence: sentence(name) }));
}
