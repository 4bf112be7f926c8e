import { expect, test } from 'vitest';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import { masqueradeScript, readMasquerade } from './masquerade.ts';

const p = (text: string) => parsePrefix(text) as Prefix;

test('the script names our table only, and both families that have sources', () => {
  const script = masqueradeScript({
    sources: [p('10.5.1.0/24'), p('fd05::/64')],
    exceptions: [p('10.0.0.0/8')],
  });
  expect(script).toBe(`add table inet cadastre
delete table inet cadastre
table inet cadastre {
  set sources4 { type ipv4_addr; flags interval; auto-merge; elements = { 10.5.1.0/24 }; }
  set exceptions4 { type ipv4_addr; flags interval; auto-merge; elements = { 10.0.0.0/8 }; }
  set sources6 { type ipv6_addr; flags interval; auto-merge; elements = { fd05::/64 }; }
  set exceptions6 { type ipv6_addr; flags interval; auto-merge; }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr @sources4 ip daddr != @exceptions4 masquerade
    ip6 saddr @sources6 ip6 daddr != @exceptions6 masquerade
  }
}
`);
});

test('a table that somebody took a rule from is not what was declared', () => {
  const set = { name: 'sources4', elem: [{ prefix: { addr: '10.5.1.0', len: 24 } }, '10.5.9.1'] };
  const whole = [{ set }, { chain: {} }, { rule: {} }];
  const read = (nftables: object[]) => readMasquerade(JSON.stringify({ nftables }));
  expect(read(whole)?.sources.map(String)).toEqual(['10.5.1.0/24', '10.5.9.1/32']);
  expect(read(whole.slice(0, 2))).toBeUndefined();
  expect(read([])).toBeUndefined();
});
