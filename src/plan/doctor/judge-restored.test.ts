import { describe, expect, test } from 'vitest';
import { cleanWorlds, node } from '../../../test/doctor/worlds.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';

const ofCadastre = cleanWorlds['ip-pool of Cadastre'];
const ofNodes = cleanWorlds['kubernetes of Cilium'];

const found = (evidence: Evidence) =>
  judge(evidence)
    .filter(({ reason }) => reason === 'RestoredFromBackup')
    .map(({ severity, node: who, prefix, owner }) => `${severity} ${who} ${prefix} ${owner}`);

/** The world in which a's report says more. */
const withReport = (evidence: Evidence, more: Partial<WitnessReport>): Evidence => ({
  ...evidence,
  reports: evidence.reports.map((one) => (one.name === 'a' ? { ...one, ...more } : one)),
});
const lost = { uses: [{ cidr: '10.1.7.0/24', uid: 'lost' }] };

describe('blocks that agents use', () => {
  test('and the register has as theirs are in order', () => {
    expect(found(withReport(ofCadastre(), { uses: [{ cidr: '10.1.0.0/24' }] }))).toEqual([]);
  });

  test('and nobody has were lost', () => {
    expect(found(withReport(ofCadastre(), lost))).toEqual(['critical a 10.1.7.0/24 a']);
  });

  test('are reported once, whoever says it', () => {
    const findings = [{ reason: 'RestoredFromBackup', cidr: '10.1.7.0/24', detail: 'gone' }];
    const said = withReport(ofCadastre(), { ...lost, status: { findings } });
    expect(found(said)).toEqual(['critical a 10.1.7.0/24 a']);
    // An agent that has emptied the block meanwhile still says what happened.
    const only = withReport(ofCadastre(), { status: { findings } });
    expect(found(only)).toEqual(['critical a 10.1.7.0/24 a']);
  });

  test('are not in use where the same report gives them back', () => {
    const releases = [{ cidr: '10.1.7.0/24', uid: 'lost' }];
    expect(found(withReport(ofCadastre(), { ...lost, releases }))).toEqual([]);
  });

  test('of a Node that is gone are reported as long as its report is there', () => {
    const gone = withReport(ofCadastre(), { ...lost, name: 'gone', nodeUid: 'gone' });
    expect(found(gone)).toEqual(['warning gone 10.1.7.0/24 null']);
    const anew = { ...gone, nodes: [...gone.nodes, node('gone', '10.0.0.9', { uid: 'anew' })] };
    expect(found(anew)).toEqual(['warning gone 10.1.7.0/24 null']);
  });

  test('where nothing is registered are what its records say', () => {
    const uses = [{ cidr: '10.1.0.0/24' }];
    const [one] = ofCadastre().reports;
    const world = { ...ofNodes(), reports: [{ ...one!, uses }] };
    expect(found(world)).toEqual([]);
  });
});
