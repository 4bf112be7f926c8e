/** What one can ask about: each has a page in the console, and `cadastre explain` knows them all. */
export const subjectKinds = [
  'node',
  'pool',
  'block',
  'router',
  'service',
  'pod',
  'address',
  'prefix',
] as const;

export type SubjectKind = (typeof subjectKinds)[number];

export interface Subject {
  kind: SubjectKind;
  /** `default/web-1` for a pod and a Service, the CIDR for a block and a prefix. */
  name: string;
}

/** A piece of an answer; with a subject it leads there. */
export interface Cell {
  text: string;
  subject?: Subject;
}

/** Rows under each other, such as the pods of a block. */
export interface AnswerList {
  title: string;
  columns: readonly string[];
  rows: ReadonlyArray<readonly Cell[]>;
  /** How many there are, where `rows` are only the first. */
  total: number;
}

/** What is known of a subject: for a page, and for a terminal. */
export interface SubjectAnswer {
  subject: Subject;
  /** One sentence: whose it is, and how it is. */
  summary: string;
  facts: ReadonlyArray<{ name: string; cells: readonly Cell[] }>;
  lists: readonly AnswerList[];
  /** The blocks whose history is the subject's. */
  cidrs: readonly string[];
}

export const plain = (text: string): Cell => ({ text });

export const link = (kind: SubjectKind, name: string, text = name): Cell =>
  name === '' ? { text: '–' } : { text, subject: { kind, name } };
