import { expect, test } from 'vitest';
import { readCiliumConfig } from './cilium-config.ts';
import { configOfValues, isCiliumValues } from './cilium-values.ts';

const read = (values: Record<string, unknown>) => readCiliumConfig(configOfValues(values));

test('values of 1.11: the single CIDR counts where the list is empty, and BGP announces pods', () => {
  expect(
    read({
      bgp: { enabled: true, announce: { loadbalancerIP: true, podCIDR: true } },
      ipam: {
        mode: 'cluster-pool',
        operator: {
          clusterPoolIPv4PodCIDR: '10.5.112.0/21',
          clusterPoolIPv4PodCIDRList: [],
          clusterPoolIPv4MaskSize: 25,
          clusterPoolIPv6PodCIDR: 'fd00::/104',
          clusterPoolIPv6PodCIDRList: [],
          clusterPoolIPv6MaskSize: 120,
        },
      },
      ipv4: { enabled: true },
    }),
  ).toEqual({
    ipam: 'cluster-pool',
    clusterPool: {
      ipv4: { cidrs: ['10.5.112.0/21'], maskSize: 25 },
      ipv6: { cidrs: ['fd00::/104'], maskSize: 120 },
    },
    enabled: { ipv4: true, ipv6: false },
    bgp: 'metallb',
    problems: [],
  });
});

test('the list counts before the single CIDR, as a list or as one text', () => {
  const of = (list: unknown) =>
    read({
      ipam: {
        operator: { clusterPoolIPv4PodCIDRList: list, clusterPoolIPv4PodCIDR: '10.0.0.0/8' },
      },
    }).clusterPool.ipv4.cidrs;
  expect(of(['10.1.0.0/16', '10.2.0.0/16'])).toEqual(['10.1.0.0/16', '10.2.0.0/16']);
  expect(of('10.1.0.0/16 10.2.0.0/16')).toEqual(['10.1.0.0/16', '10.2.0.0/16']);
});

test('what is not given is as in the chart, but no range is guessed', () => {
  const { ipam, clusterPool, enabled, bgp, problems } = read({ ipam: {} });
  expect({ ipam, enabled, bgp, problems }).toEqual({
    ipam: 'cluster-pool',
    enabled: { ipv4: true, ipv6: false },
    bgp: 'off',
    problems: [],
  });
  expect(clusterPool.ipv4).toEqual({ cidrs: [], maskSize: 24 });
  expect(clusterPool.ipv6).toEqual({ cidrs: [], maskSize: 120 });
});

test('the BGP control plane is on by its own switch; announce.podCIDR alone announces nothing', () => {
  expect(read({ ipam: {}, bgpControlPlane: { enabled: true } }).bgp).toBe('control-plane');
  expect(read({ ipam: {}, bgp: { enabled: false, announce: { podCIDR: true } } }).bgp).toBe('off');
});

test('a value of the wrong form is a problem with its key', () => {
  const { problems } = read({ ipam: { mode: { a: 1 } }, ipv6: { enabled: 'yes' } });
  expect(problems).toEqual([
    'ipam: {"a":1} is not a string',
    'enable-ipv6: "yes" is neither true nor false',
  ]);
});

test('knows values by their key ipam, and takes no Kubernetes object for some', () => {
  expect(isCiliumValues({ ipam: { mode: 'kubernetes' } })).toBe(true);
  for (const other of [null, [], 'x', {}, { ipam: 'x' }, { kind: 'Pod', ipam: {} }]) {
    expect(isCiliumValues(other)).toBe(false);
  }
});
