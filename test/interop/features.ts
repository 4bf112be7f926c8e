/**
 * The table peer × feature of docs/interop.md, written by the run itself. A cell
 * says yes because a test asserted it in this run, never because it should.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Router } from './routers/router.ts';

export const features = [
  'active',
  'passive',
  'both connect',
  'eBGP',
  'iBGP',
  '4-octet AS',
  '2-octet AS',
  'no AS4 capability',
  'IPv4',
  'IPv6',
  'IPv4 transport',
  'IPv6 transport',
  'extended next hop',
  'announce',
  'change attributes',
  'withdraw',
  'route refresh',
  'graceful shutdown',
  'hold expiry',
  '1,000 routes',
  'exit: restart',
  'exit: drain',
  'graceful restart',
  'silent death',
  'TCP-MD5',
  'GTSM',
] as const;

export type Feature = (typeof features)[number];

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'artefacts/interop');
const order = ['FRR', 'BIRD', 'GoBGP', 'OpenBGPD', 'ExaBGP'];

interface Column {
  name: string;
  version: string;
  cells: Partial<Record<Feature, string>>;
}

export class FeatureColumn {
  readonly #column: Column;

  constructor(router: Router) {
    this.#column = { name: router.name, version: versionOf(router), cells: { ...router.lacks } };
  }

  /** To be called at the end of a test that has asserted these. */
  proved(...these: Feature[]): void {
    for (const feature of these) this.#column.cells[feature] = 'yes';
  }

  provedInPart(feature: Feature, when: string): void {
    this.#column.cells[feature] = `yes, ${when}`;
  }

  /** Keeps the column, and writes the page once every router has one. */
  save(): void {
    // A run of some tests, or with a failure, has nothing new to say about the whole.
    if (features.some((feature) => this.#column.cells[feature] === undefined)) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${this.#column.name}.json`), JSON.stringify(this.#column));
    const files = order.map((name) => join(folder, `${name}.json`));
    if (!files.every((file) => existsSync(file))) return;
    const columns = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Column);
    const page = join(root, 'docs/interop.md');
    writeFileSync(`${page}.${process.pid}`, render(columns));
    renameSync(`${page}.${process.pid}`, page);
  }
}

function render(columns: readonly Column[]): string {
  const notes: string[] = [];
  const cell = (text: string | undefined): string => {
    if (text === undefined) return '—';
    if (text.startsWith('yes')) return text;
    if (!notes.includes(text)) notes.push(text);
    return `n/a (${notes.indexOf(text) + 1})`;
  };
  const head = ['', ...columns.map((column) => `${column.name} ${column.version}`)];
  const body = features.map((feature) => [
    feature,
    ...columns.map((column) => cell(column.cells[feature])),
  ]);
  return `# Routers we talk to

Written by \`npm test -- --only interop\`; do not edit. Each **yes** was asserted in that run against
the router itself, from Debian, in a network namespace: the router's own command was asked what it
holds, with next hop and attributes. **n/a**: the router has no such feature, see the note. **—**:
not asserted.

${table(head, body)}

${notes.map((note, at) => `${at + 1}. ${note}`).join('\n')}
`;
}

/** Columns of one width each, as the formatter of the repository wants them. */
function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = head.map((_, at) => Math.max(...[head, ...body].map((row) => row[at]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text, at) => text.padEnd(widths[at]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}

function versionOf(router: Router): string {
  try {
    const text = execFileSync('dpkg-query', ['-s', router.debianPackage], { encoding: 'utf8' });
    return /^Version: .*?(\d+\.\d+(\.\d+)?)/m.exec(text)?.[1] ?? '';
  } catch {
    return '';
  }
}
