/**
 * Answers what the one box asks: what a name or an address is, and what is known
 * of it. The index is made when somebody asks and kept while nothing changes; a
 * page that nobody looks at costs nothing.
 */
import type { HistoryEntry } from '../model/block-history.ts';
import type { ClusterPod } from '../model/pod.ts';
import type { Evidence } from '../plan/doctor/evidence.ts';
import { survey } from '../plan/doctor/survey.ts';
import { ClusterIndex } from '../plan/find/cluster-index.ts';
import { describeSubject } from '../plan/find/describe-subject.ts';
import { type FoundSubject, findSubjects } from '../plan/find/find-subjects.ts';
import type { Subject, SubjectAnswer } from '../plan/find/subject.ts';

/** Pods that no API server lists: those of simulated nodes. */
export type OtherPods = () => Promise<readonly ClusterPod[]>;

export interface SubjectPage extends SubjectAnswer {
  /** What became of its blocks, latest first. */
  history: Array<HistoryEntry & { cidr: string }>;
}

export class Finder {
  readonly #evidence: () => Evidence;
  readonly #otherPods: OtherPods | undefined;
  #index: Promise<ClusterIndex> | undefined;

  constructor(evidence: () => Evidence, otherPods?: OtherPods) {
    this.#evidence = evidence;
    this.#otherPods = otherPods;
  }

  /** Something changed: the next question is answered anew. */
  forget(): void {
    this.#index = undefined;
  }

  async find(text: string): Promise<FoundSubject[]> {
    return findSubjects(await this.#made(), text);
  }

  async describe(subject: Subject): Promise<SubjectPage | undefined> {
    const index = await this.#made();
    const answer = describeSubject(index, subject);
    if (answer === undefined) return undefined;
    const own = new Set(answer.cidrs);
    const history = index.survey.evidence.history
      .filter(({ cidr }) => own.has(cidr))
      .flatMap(({ cidr, entries }) => entries.map((entry) => ({ ...entry, cidr })))
      .sort((a, b) => (a.at < b.at ? 1 : -1))
      .slice(0, mostEntries);
    return { ...answer, history };
  }

  #made(): Promise<ClusterIndex> {
    this.#index ??= this.#make();
    return this.#index;
  }

  async #make(): Promise<ClusterIndex> {
    const others = (await this.#otherPods?.()) ?? [];
    const evidence = this.#evidence();
    const pods = [...(evidence.pods ?? []), ...others];
    return new ClusterIndex(survey(others.length === 0 ? evidence : { ...evidence, pods }));
  }
}

const mostEntries = 200;
