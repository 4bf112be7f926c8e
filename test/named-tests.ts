import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** A test that a page names: `file` › title. */
export interface NamedTest {
  file: string;
  title: string;
}

/** The tests in a cell of a table, one a line. */
export function namedTests(cell: string): NamedTest[] {
  return cell.split('<br>').map((one) => {
    const [, file = one, title = ''] = /^`([^`]+)` › (.+)$/.exec(one.trim()) ?? [];
    return { file, title };
  });
}

/** Those that are not there. */
export function missingTests(named: readonly NamedTest[]): NamedTest[] {
  return named.filter(({ file, title }) => {
    const path = join(root, file);
    return title === '' || !existsSync(path) || !hasTest(readFileSync(path, 'utf8'), title);
  });
}

/** A test of that name is there: as its first argument, or as an entry in a table of cases. */
export function hasTest(text: string, name: string): boolean {
  return ["'", '`', '"'].some((quote) =>
    [',', ':'].some((after) => text.includes(`${quote}${name}${quote}${after}`)),
  );
}
