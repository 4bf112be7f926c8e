/**
 * The arrows between the rooms of src/, as docs/DESIGN.md draws them. A room
 * may import what its row names, and nothing else: no other room, no package,
 * no module of Node.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { cyclesOf, importGraph } from './parts/import-cycles.ts';
import { readImports, withoutComments } from './parts/imports.ts';

const root = join(import.meta.dirname, '..');

interface Room {
  /** Other rooms it may import. */
  rooms: string[];
  /** npm packages it may import. */
  packages: string[];
  /** A pure room knows no clock, no chance and no world: no module of Node either. */
  isPure?: true;
}

const nouns = ['base', 'net', 'model'];
const hands = ['kube', 'kernel', 'bgp'];
const below = [...nouns, 'plan', ...hands, 'cluster'];
const actors = ['operator', 'agent', 'doctor', 'migrate'];

const rooms: Record<string, Room> = {
  base: { rooms: [], packages: ['koffi', 'pino', 'yaml'] },
  net: { rooms: [], packages: [], isPure: true },
  model: { rooms: ['base', 'net'], packages: ['yaml', 'zod'], isPure: true },
  plan: { rooms: nouns, packages: [], isPure: true },
  kube: { rooms: nouns, packages: ['undici', 'yaml'] },
  kernel: { rooms: nouns, packages: ['koffi'] },
  bgp: { rooms: nouns, packages: ['koffi'] },
  cluster: { rooms: [...nouns, 'kube'], packages: ['yaml'] },
  apiserver: { rooms: ['base', 'net'], packages: ['@marcbachmann/cel-js', 're2js', 'yaml'] },
  witness: { rooms: [...nouns, 'plan', 'bgp'], packages: [] },
  operator: { rooms: [...below, 'witness'], packages: [] },
  agent: { rooms: below, packages: [] },
  doctor: { rooms: [...below, 'witness'], packages: [] },
  migrate: { rooms: [...below, 'doctor'], packages: [] },
  console: { rooms: [...below, ...actors, 'witness'], packages: ['preact'] },
  demo: { rooms: [...below, ...actors, 'witness', 'apiserver', 'console', 'lab'], packages: [] },
  lab: { rooms: [...below, ...actors, 'apiserver'], packages: ['yaml'] },
  cli: {
    rooms: [...below, ...actors, 'witness', 'apiserver', 'console', 'demo', 'lab'],
    packages: ['commander', 'yaml'],
  },
};

/** A test may also use the test tools, the oracles, the real parts, and the embedded API server. */
const testPackages = ['vitest', 'fast-check', 'ipaddr.js', 'esbuild', 'undici', 'yaml'];

/** What a pure room must be given instead of taking it. */
const worldly =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bMath\.random\b|\bprocess\.|\bperformance\.|\b(?:set(?:Timeout|Interval|Immediate)|queueMicrotask|fetch)\(|\bcrypto\.|\bconsole\./g;

interface SourceFile {
  /** From the root, with forward slashes: `src/net/prefix.ts`. */
  path: string;
  text: string;
}

/** Every complaint about the file, as `path:line what`. */
function complaints(file: SourceFile): string[] {
  const [, name = ''] = file.path.split('/');
  const room = rooms[name];
  if (room === undefined) return [`${file.path}:1 src/${name} is no room of the table`];
  const isTest = file.path.endsWith('.test.ts');
  const found: string[] = [];
  for (const { name: target, line } of readImports(file.text)) {
    const reason = objection(file.path, name, room, isTest, target);
    if (reason !== undefined) found.push(`${file.path}:${line} ${reason}`);
  }
  if (room.isPure && !isTest) {
    const code = withoutComments(file.text);
    for (const match of code.matchAll(worldly)) {
      const line = code.slice(0, match.index).split('\n').length;
      found.push(`${file.path}:${line} ${name} is pure and may not use ${match[0]}`);
    }
  }
  return found;
}

function objection(
  path: string,
  name: string,
  room: Room,
  isTest: boolean,
  target: string | undefined,
): string | undefined {
  if (target === undefined) return 'imports something only known at run time';
  if (target.startsWith('node:')) {
    return room.isPure && !isTest ? `${name} is pure and may not import ${target}` : undefined;
  }
  if (!target.startsWith('.')) {
    const parts = target.split('/');
    const owner = target.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
    const allowed = isTest ? [...room.packages, ...testPackages] : room.packages;
    return allowed.includes(owner) ? undefined : `${name} may not import the package ${owner}`;
  }
  const [top, other = ''] = posix.join(dirname(path), target).split('/');
  if (top === 'test' && isTest) return undefined;
  if (top !== 'src') return `${name} may not import ${target}, which is outside src`;
  const allowed = isTest ? [...room.rooms, 'apiserver'] : room.rooms;
  if (other === name || allowed.includes(other)) return undefined;
  return `${name} may not import ${other}`;
}

function walk(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

const files: SourceFile[] = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({
    path: posix.join('src', path.replaceAll('\\', '/')),
    text: readFileSync(join(root, 'src', path), 'utf8'),
  }));

describe('the arrows between the rooms', () => {
  test('every source file was seen', () => {
    const onDisk = walk(join(root, 'src')).filter(
      (path) => !/\.(json|css|html|md)$|\/testdata\//.test(path),
    );
    expect(files.map((file) => file.path).sort()).toEqual(
      onDisk.map((path) => relative(root, path).replaceAll('\\', '/')).sort(),
    );
    expect(files.length).toBeGreaterThan(10);
  });

  test('every import was seen: whatever esbuild follows, we read too', async () => {
    const { metafile } = await build({
      entryPoints: files.map((file) => join(root, file.path)),
      absWorkingDir: root,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      // Each file written once, not once for each that imports it.
      splitting: true,
      outdir: 'unused',
      write: false,
      metafile: true,
      logLevel: 'error',
    });
    let imports = 0;
    for (const file of files) {
      const read = new Set(readImports(file.text).map((found) => found.name));
      for (const { original, path } of metafile.inputs[file.path]?.imports ?? []) {
        // JSX brings its factory along without a word in the file.
        if (file.path.endsWith('.tsx') && path === 'preact/jsx-runtime') continue;
        imports++;
        expect(read, file.path).toContain(original ?? path);
      }
    }
    expect(imports).toBeGreaterThan(files.length / 2);
  });

  test('no package is imported late: a bundled CommonJS package has then no named exports', () => {
    const late = files.flatMap(({ path, text }) =>
      [...withoutComments(text).matchAll(/(?<!typeof )\bimport\(\s*'([^'.][^']*)'/g)]
        .filter(([, target]) => !path.endsWith('.test.ts') && !target!.startsWith('node:'))
        .map(([, target]) => `${path} imports ${target}: in a file of ours, and that one late`),
    );
    expect(late).toEqual([]);
  });

  test('no file imports what its room may not', () => {
    expect(files.flatMap(complaints)).toEqual([]);
  });
});

describe('no file is needed by what it needs', () => {
  const cycles = cyclesOf(importGraph(files.filter(({ path }) => !path.endsWith('.test.ts'))));

  test('no import cycle between files, type-only imports included', () => {
    expect(cycles).toEqual([]);
  });

  test('one is found where there is one', () => {
    const of = (path: string, ...names: string[]) => ({
      path,
      text: names.map((name) => `import type { X } from '${name}';`).join('\n'),
    });
    const graph = importGraph([
      of('src/a/one.ts', './two.ts', '../b/three.ts'),
      of('src/a/two.ts', '../b/three.ts'),
      of('src/b/three.ts', '../a/one.ts'),
      of('src/b/four.ts', './three.ts'),
    ]);
    expect(cyclesOf(graph)).toEqual([['src/a/one.ts', 'src/a/two.ts', 'src/b/three.ts']]);
  });
});

describe('docs/DESIGN.md', () => {
  const page = readFileSync(join(root, 'docs/DESIGN.md'), 'utf8');
  const [, section = ''] = page.split(/^## The rooms$/m);
  const names = (cell = '') => cell.split(/[\s,]+/).filter((name) => name !== '' && name !== '–');
  const groups = new Map(
    [...section.matchAll(/^- \*\*(\w+)\*\*: (.+)$/gm)].map((m) => [m[1], m[2]]),
  );
  const expand = (name: string): string[] =>
    groups.has(name) ? names(groups.get(name)).flatMap(expand) : [name];

  test('its table of rooms is the table above: what each may import, rooms and packages', () => {
    const rows = [...section.matchAll(/^\| `(\w+)` +\| \S.*\| ([^|]+) \| ([^|]+) \|$/gm)];
    const drawn = rows.map(([, room, others, packages]) => [
      room,
      { rooms: names(others).flatMap(expand).sort(), packages: names(packages).sort() },
    ]);
    const wanted = Object.entries(rooms).map(([room, { rooms: others, packages }]) => [
      room,
      { rooms: [...others].sort(), packages: [...packages].sort() },
    ]);
    expect(drawn).toEqual(wanted);
    const pure = Object.keys(rooms).filter((room) => rooms[room]?.isPure);
    expect(section).toContain(`\`net\`, \`model\` and \`plan\` are pure`);
    expect(pure).toEqual(['net', 'model', 'plan']);
  });

  test.each(['plan', 'bgp'])('it names the folders of %s', (room) => {
    const drawn = [...section.matchAll(/^\| `(\w+)\/([\w-]+)` +\| \S/gm)];
    const inside = readdirSync(join(root, 'src', room), { withFileTypes: true });
    const folders = inside.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(drawn.flatMap(([, of, name]) => (of === room ? [name] : [])).sort()).toEqual(
      folders.sort(),
    );
  });
});

describe('the test itself', () => {
  const complain = (path: string, text: string) =>
    complaints({ path, text }).map((line) => line.slice(path.length + 1));

  test.each([
    ["import { x } from '../kube/client.ts';", '1 plan may not import kube'],
    ["import type { X } from '../kube/client.ts';", '1 plan may not import kube'],
    ["import {\n  x,\n  y,\n} from '../../src/agent/x.ts';", '1 plan may not import agent'],
    ["export * from '../bgp/speaker.ts';", '1 plan may not import bgp'],
    ["export type { X } from '../bgp/speaker.ts';", '1 plan may not import bgp'],
    ["import '../cli/main.ts';", '1 plan may not import cli'],
    ["\nconst x = await import('../kernel/x.ts');", '2 plan may not import kernel'],
    ["type X = import('../kernel/x.ts').X;", '1 plan may not import kernel'],
    ['const x = await import(name);', '1 imports something only known at run time'],
    ["import x from 'undici';", '1 plan may not import the package undici'],
    ["import x from '@scope/name/deep';", '1 plan may not import the package @scope/name'],
    ["import x from 'fs';", '1 plan may not import the package fs'],
    ["import { readFileSync } from 'node:fs';", '1 plan is pure and may not import node:fs'],
    [
      "import x from '../../scripts/parts.mjs';",
      '1 plan may not import ../../scripts/parts.mjs, which is outside src',
    ],
    ['const now = Date.now();', '1 plan is pure and may not use Date.now'],
    ['const now = new Date().toISOString();', '1 plan is pure and may not use new Date()'],
    ['const x = Math.random();', '1 plan is pure and may not use Math.random'],
    ['const x = process.env.HOME;', '1 plan is pure and may not use process.'],
    ['setTimeout(() => {}, 1);', '1 plan is pure and may not use setTimeout('],
  ])('refuses %j', (text, complaint) => {
    expect(complain('src/plan/choose-pool.ts', text)).toEqual([complaint]);
  });

  test('refuses a room that nobody named', () => {
    expect(complain('src/utils/x.ts', '')).toEqual(['1 src/utils is no room of the table']);
  });

  test('lets pass what may pass', () => {
    const text = `/** Not Date.now(), not import('node:fs'). */
import type { Prefix } from '../net/prefix.ts';
import { cut } from './cut.ts';
// import { x } from '../kube/client.ts';
export const at = (ms: number) => new Date(ms).toISOString();
export const said = 'a word from "kube" is no import';
`;
    expect(complain('src/plan/choose-pool.ts', text)).toEqual([]);
    const tests = "import { test } from 'vitest';\nimport { readFileSync } from 'node:fs';";
    expect(complain('src/plan/choose-pool.test.ts', tests)).toEqual([]);
    expect(complain('src/plan/choose-pool.test.ts', "import '../kube/x.ts';")).toEqual([
      '1 plan may not import kube',
    ]);
  });
});
