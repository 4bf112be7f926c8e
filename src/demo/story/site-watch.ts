/** What is known of one site of the story: its last reading, the pings of this step, the verdicts. */
import type { FindingRow } from '../../console/rows.ts';
import type { StorySiteRow } from '../../console/story-row.ts';
import type { Expectation } from '../../lab/replay/observation.ts';
import { doctorReasons } from '../../plan/doctor/finding.ts';
import { leaver } from './incident-steps.ts';
import { drawnSite, type Ping, pingsOf, type Side, type SiteReading } from './site-reading.ts';
import { observationOf, type PingTotals } from './story-observation.ts';
import type { StorySite } from './story-site.ts';

const words: Record<Side, { title: string; about: string }> = {
  left: {
    title: 'As it was',
    about: 'The speaker announces Node.spec.podCIDRs, as Cilium 1.11 did.',
  },
  right: { title: 'With Cadastre', about: 'Agents announce what the register gives them.' },
};

export class SiteWatch {
  readonly site: StorySite;
  #reading: SiteReading | undefined;
  #pings: readonly Ping[] = [];
  /** By pod and router, in this step. */
  #counts = new Map<string, PingTotals>();
  #expected: readonly Expectation[] = [];
  #verdicts: StorySiteRow['expected'] = [];
  #wouldLose: string[] | null = null;

  constructor(site: StorySite) {
    this.site = site;
  }

  beginStep(): void {
    this.#counts = new Map();
    this.#expected = [];
    this.#verdicts = [];
  }

  expect(expected: readonly Expectation[]): void {
    this.#expected = expected;
  }

  /** A ping to every pod through every router, on the tables as they are now. */
  async ping(): Promise<void> {
    const reading = await this.site.read();
    this.#reading = reading;
    this.#pings = pingsOf(reading);
    const totals = new Map<string, PingTotals>();
    for (const { pod, router, way } of this.#pings) {
      const isLost = way === 'lost';
      count(this.#counts, `${pod} ${router}`, isLost);
    }
    for (const { pod, router } of this.#pings) {
      const { sent, lost } = this.#counts.get(`${pod} ${router}`) ?? { sent: 0, lost: 0 };
      const before = totals.get(pod) ?? { sent: 0, lost: 0 };
      totals.set(pod, { sent: before.sent + sent, lost: before.lost + lost });
    }
    const seen = observationOf(reading, this.#pings, totals);
    this.#verdicts = this.#expected.map(({ what, judge }) => {
      const why = judge(seen);
      return { what, isSo: why === undefined, why: why ?? '' };
    });
    this.#wouldLose = this.site.wouldLose(leaver);
  }

  /** What is expected and not so. */
  unmet(): string[] {
    return this.#verdicts.filter(({ isSo }) => !isSo).map(({ what, why }) => `${what} (${why})`);
  }

  row(): StorySiteRow {
    const { side } = this.site;
    const reading = this.#reading ?? this.site.unread();
    return {
      id: side,
      ...words[side],
      ...drawnSite(reading),
      pings: this.#pings.map((ping) => ({
        ...ping,
        ...(this.#counts.get(`${ping.pod} ${ping.router}`) ?? { sent: 0, lost: 0 }),
      })),
      findings: grouped(this.site.findings()),
      wouldLose: this.#wouldLose,
      expected: this.#verdicts,
    };
  }
}

function count(counts: Map<string, PingTotals>, key: string, isLost: boolean): void {
  const before = counts.get(key) ?? { sent: 0, lost: 0 };
  counts.set(key, { sent: before.sent + 1, lost: before.lost + (isLost ? 1 : 0) });
}

/** One line for each reason, in the order in which the doctor tells them. */
function grouped(findings: readonly FindingRow[]): StorySiteRow['findings'] {
  const lines = new Map<string, StorySiteRow['findings'][number]>();
  for (const { reason, severity, owner, node } of findings) {
    const line = lines.get(reason) ?? { reason, severity, count: 0, nodes: [] };
    const whom = owner || node;
    line.count += 1;
    if (whom !== '' && !line.nodes.includes(whom)) line.nodes.push(whom);
    lines.set(reason, line);
  }
  return doctorReasons.flatMap((reason) => lines.get(reason) ?? []);
}
