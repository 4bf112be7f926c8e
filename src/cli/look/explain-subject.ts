import { evidenceOf } from '../../plan/doctor/evidence.ts';
import { survey } from '../../plan/doctor/survey.ts';
import { ClusterIndex } from '../../plan/find/cluster-index.ts';
import { describeSubject } from '../../plan/find/describe-subject.ts';
import { findSubjects } from '../../plan/find/find-subjects.ts';
import type { SubjectAnswer } from '../../plan/find/subject.ts';
import type { Look } from '../view/look.ts';
import { historyLines } from './explain-history.ts';
import type { Explanation } from './explanation.ts';

/** The cluster as the console asks it, too: who has an address, and what a name means. */
export function indexOf({ state, nowMs }: Look): ClusterIndex {
  return new ClusterIndex(survey(evidenceOf(state, { nowMs })));
}

/** A pod, a Service or a router by its name; `pod/x` says which. */
export function explainNamed(look: Look, text: string): Explanation | undefined {
  const index = indexOf(look);
  const exact = findSubjects(index, text).find(({ subject: { kind, name } }) => {
    if (kind !== 'pod' && kind !== 'service' && kind !== 'router') return false;
    const wanted = text.replace(/^(pod|service|router)\//, '');
    return name === wanted || name.endsWith(`/${wanted}`);
  });
  const answer = exact && describeSubject(index, exact.subject);
  return answer && explanationOf(look, answer);
}

const kindNames = { pod: 'Pod', service: 'Service', router: 'Router' } as const;

function explanationOf({ state }: Look, answer: SubjectAnswer): Explanation {
  const { subject, facts, lists, cidrs } = answer;
  const kind = kindNames[subject.kind as keyof typeof kindNames];
  const history = state.history.filter(({ cidr }) => cidrs.includes(cidr));
  const words = (title: string) => title.charAt(0).toUpperCase() + title.slice(1);
  return {
    subject: { kind, name: subject.name },
    facts: {
      ...Object.fromEntries(facts.map(({ name, cells }) => [name, cells.map(({ text }) => text)])),
      lists: lists.map(({ title, columns, rows, total }) => ({
        title,
        total,
        rows: rows.map((row) =>
          Object.fromEntries(columns.map((column, at) => [column, row[at]?.text ?? ''])),
        ),
      })),
      history,
    },
    heading: `${kind} ${subject.name}`,
    sections: [
      ...facts.map(({ name, cells }) => ({
        title: words(name),
        lines: [[cells.map(({ text }) => text).join(', ')]],
      })),
      ...lists.map(({ title, rows }) => ({
        title,
        lines: rows.map((row) => row.map(({ text }) => text)),
      })),
      { title: 'History', lines: historyLines(history) },
    ],
    names: [`${subject.kind}/${subject.name}`],
  };
}
