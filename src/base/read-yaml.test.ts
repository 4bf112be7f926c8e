import { expect, test } from 'vitest';
import { LineCounter } from 'yaml';
import { mostYamlDepth, readYamlDocument, readYamlDocuments } from './read-yaml.ts';

function fault(text: string): string | undefined {
  const lines = new LineCounter();
  const [error] = readYamlDocument(text, lines).document.errors;
  return error && `${lines.linePos(error.pos[0]).line}: ${error.message}`;
}

function value(text: string): unknown {
  const read = readYamlDocument(text, new LineCounter());
  expect(read.document.errors).toEqual([]);
  return read.value();
}

test('just below the limits a text is read', () => {
  const nested = '['.repeat(mostYamlDepth) + ']'.repeat(mostYamlDepth);
  expect(JSON.stringify(value(nested))).toBe(nested);
  const blocks = `${'- '.repeat(mostYamlDepth)}a`;
  expect(JSON.stringify(value(blocks))).toBe(
    `${'['.repeat(mostYamlDepth)}"a"${']'.repeat(mostYamlDepth)}`,
  );
  const keys = Array.from({ length: 17_000 }, (_, at) => `k${at}: 1`).join('\n');
  expect(Object.keys(value(keys) as object)).toHaveLength(17_000);
  const aliases = `a: &a [1, 2]\nb: [${Array(1_000).fill('*a').join(', ')}]`;
  expect((value(aliases) as { b: unknown[] }).b[999]).toEqual([1, 2]);
  expect(fault(aliases.replace(']\nb: [', ']\nb: [*a, '))).toBe(
    '2: more than 1,000 aliases (*name)',
  );
});

test('brackets and signs inside of a text are text', () => {
  const lines = '[{"\\q*a &b !c %d'.repeat(300);
  expect(value(`a: |\n  ${lines}\nb: "\\u0041\\x41\\\\\\""\nc: "x\\\n  y"\n`)).toEqual({
    a: `${lines}\n`,
    b: 'AA\\"',
    c: 'xy',
  });
});

test('a key twice, an alias of nothing and an unknown escape are faults with their line', () => {
  expect(fault('a: 1\nb: 2\na: 3')).toBe('3: Map keys must be unique');
  expect(fault('a:\n  - {b: 1, b: 1}')).toBe('2: Map keys must be unique');
  expect(fault('a: 1\nb: *c')).toBe('2: an alias (*name) of nothing above');
  expect(fault('a: &a 1\nb: *a')).toBeUndefined();
  expect(fault('a: 1\nb: "\\U00110000"')).toContain('2: a backslash');
});

test('no more than ten faults are noted', () => {
  const [read] = readYamlDocuments(']\n'.repeat(100), new LineCounter());
  expect(read?.document.errors).toHaveLength(10);
});
