import type { Section } from '../sections.ts';

/** An answer to "why": facts for programs, sections for people. */
export interface Explanation {
  subject: { kind: string; name: string };
  facts: Record<string, unknown>;
  heading: string;
  sections: Section[];
  names: string[];
}
