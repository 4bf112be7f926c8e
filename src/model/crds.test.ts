import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Address } from '../net/address.ts';
import { Prefix, parsePrefix } from '../net/prefix.ts';
import { bgpAdvertisementCrd, bgpPeerCrd } from './bgp-crds.ts';
import { type crds, ipPoolCrd, nodeBlockCrd, nodeReportCrd } from './crds.ts';
import { blockHistoryCrd } from './history-crd.ts';
import { defaultCooldownSeconds, maxCidrs, maxReserved, unnameable } from './ip-pool.ts';
import { nodeMigrationCrd } from './migration-crd.ts';
import { blockName } from './node-block.ts';
import {
  bgpAdvertisements,
  bgpPeers,
  blockHistories,
  ipPools,
  loadBalancerPools,
  nodeBlocks,
  nodeMigrations,
  nodeReports,
  serviceAddresses,
} from './resources.ts';
import { loadBalancerPoolCrd, serviceAddressCrd } from './service-crds.ts';

interface Schema {
  properties: Record<string, Schema>;
  items: Schema;
  default?: unknown;
  enum?: string[];
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}

const specOf = (crd: (typeof crds)[number]) =>
  (crd.spec.versions[0]!.schema.openAPIV3Schema as unknown as Schema).properties.spec as Schema;

describe('the custom resources', () => {
  test.each([
    [ipPoolCrd, ipPools, 'ipp'],
    [nodeBlockCrd, nodeBlocks, 'nb'],
    [nodeReportCrd, nodeReports, 'nr'],
    [bgpPeerCrd, bgpPeers, 'bp'],
    [bgpAdvertisementCrd, bgpAdvertisements, 'ba'],
    [blockHistoryCrd, blockHistories, 'bh'],
    [nodeMigrationCrd, nodeMigrations, 'nm'],
    [loadBalancerPoolCrd, loadBalancerPools, 'lbp'],
    [serviceAddressCrd, serviceAddresses, 'svcaddr'],
  ])('$metadata.name lives where the client looks for it', (crd, resource, shortName) => {
    expect(crd.metadata.name).toBe(`${resource.plural}.${resource.group}`);
    expect(crd.spec.names.kind).toBe(resource.kind);
    expect(crd.spec.names.shortNames).toEqual([shortName]);
    expect(crd.spec.scope).toBe('Cluster');
    const [version, ...others] = crd.spec.versions;
    expect(others).toEqual([]);
    expect(version).toMatchObject({ name: resource.version, served: true, storage: true });
    expect(version?.subresources).toEqual({ status: {} });
    expect(version?.additionalPrinterColumns.at(-1)?.name).toBe('Age');
  });

  test('the limits and defaults of an IPPool are those of the code that reads it', () => {
    const { cidrs, reserved, cooldownSeconds, priority, blockSize } = specOf(ipPoolCrd).properties;
    expect(cidrs?.maxItems).toBe(maxCidrs);
    expect(reserved?.maxItems).toBe(maxReserved);
    expect(cooldownSeconds?.default).toBe(defaultCooldownSeconds);
    expect([cooldownSeconds?.minimum, cooldownSeconds?.maximum]).toEqual([0, 1e9]);
    expect([priority?.minimum, priority?.maximum, priority?.default]).toEqual([-1e9, 1e9, 0]);
    expect(blockSize?.properties.ipv4).toMatchObject({ minimum: 1, maximum: 32 });
    expect(blockSize?.properties.ipv6).toMatchObject({ minimum: 1, maximum: 128 });
  });

  test('a NodeBlock has the phases of the code', () => {
    expect(specOf(nodeBlockCrd).properties.phase?.enum).toEqual([
      'Active',
      'Draining',
      'Cooling',
      'Guard',
    ]);
  });

  test('a release in a NodeReport carries the uid of its block', () => {
    expect(specOf(nodeReportCrd).properties.releases?.items).toMatchObject({
      required: ['cidr', 'uid'],
    });
  });
});

describe('the name rule', () => {
  const anyPrefix = fc
    .tuple(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), fc.nat({ max: 128 }), fc.boolean())
    .map(([bits, length, isV4]) =>
      isV4
        ? Prefix.of(Address.fromBigInt('ipv4', bits >> 96n), Math.min(length, 32))
        : Prefix.of(Address.fromBigInt('ipv6', bits), length),
    );
  /** The rule of the CRD, in its own words. */
  const asInCel = (cidr: string) =>
    cidr.replaceAll('.', '-').replaceAll(':', '-').replace('/', '-');

  test('names what Kubernetes accepts, the same in CEL and in code, for every block but ::/16', () => {
    fc.assert(
      fc.property(anyPrefix, (prefix) => {
        expect(blockName(prefix)).toBe(asInCel(prefix.toString()));
        if (unnameable(prefix) !== undefined) return;
        expect(blockName(prefix)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
      }),
    );
  });

  /** The only CIDR a name can stand for, so two blocks never share a name. */
  const asCidr = (name: string) => {
    const [length, ...rest] = name.split('-').reverse();
    const groups = rest.reverse();
    return `${groups.join(name.includes('--') || groups.length > 4 ? ':' : '.')}/${length}`;
  };

  test('two blocks never share a name: the CIDR can be told from it', () => {
    fc.assert(
      fc.property(anyPrefix, (prefix) => {
        if (unnameable(prefix) !== undefined) return;
        expect(parsePrefix(asCidr(blockName(prefix)))?.toString()).toBe(prefix.toString());
      }),
    );
  });
});
