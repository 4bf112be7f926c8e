import { describe, expect, test } from 'vitest';
import { block, reportObject } from '../../test/register/objects.ts';
import { gaveBack, readNodeReport } from './node-report.ts';

describe('reading a NodeReport', () => {
  test('says how much the node needs and what it gives back', () => {
    const object = reportObject('a', { ipv4: 300, ipv6: 10, releases: ['10.0.0.0/24'] });
    expect(readNodeReport(object)).toMatchObject({
      name: 'a',
      nodeUid: 'uid-a',
      neededAddresses: { ipv4: 300, ipv6: 10 },
      releases: [{ cidr: '10.0.0.0/24', uid: 'uid-10.0.0.0/24' }],
    });
  });

  test('numbers that are none count as no demand, and broken releases as none', () => {
    const spec = {
      nodeUID: 7,
      neededAddresses: { ipv4: 'many', ipv6: -1 },
      releases: ['10.0.0.0/24', { cidr: '10.0.0.0/24' }, null],
    };
    expect(readNodeReport({ spec })).toMatchObject({
      nodeUid: '',
      neededAddresses: {},
      releases: [],
    });
    expect(readNodeReport({ spec: { neededAddresses: { ipv4: 1.5, ipv6: 1e300 } } })).toMatchObject(
      {
        neededAddresses: { ipv4: 2, ipv6: Number.MAX_SAFE_INTEGER },
      },
    );
    expect(readNodeReport({})).toMatchObject({ nodeUid: '', neededAddresses: {}, releases: [] });
  });
});

describe('a release', () => {
  const held = block('10.0.0.0/24', 'a');
  const report = (spec: Parameters<typeof reportObject>[1]) =>
    readNodeReport(reportObject('a', spec));

  test('frees the very block it names', () => {
    expect(gaveBack(report({ releases: ['10.0.0.0/24'] }), held)).toBe(true);
    expect(gaveBack(report({ releases: ['10.0.1.0/24'] }), held)).toBe(false);
    expect(gaveBack(undefined, held)).toBe(false);
  });

  test('a late one does not free a newer block of the same CIDR', () => {
    const late = { cidr: '10.0.0.0/24', uid: 'an earlier object' };
    expect(gaveBack(report({ releases: [late] }), held)).toBe(false);
  });

  test('one of an earlier incarnation of the node frees nothing', () => {
    const earlier = report({ nodeUid: 'uid-before', releases: ['10.0.0.0/24'] });
    expect(gaveBack(earlier, held)).toBe(false);
  });
});
