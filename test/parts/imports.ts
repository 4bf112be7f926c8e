/**
 * Reads the import statements of a source file, whatever their kind: static,
 * `export … from`, `import type`, dynamic, `require`. By pattern, because
 * TypeScript 7 has no parser to call and esbuild drops what is only a type;
 * the arrows test checks it against esbuild for everything that is not.
 */
const patterns = [
  // import x from 'y'; import { a, b } from 'y'; export * from 'y'; import type …
  /^[ \t]*(?:import|export)\b[^'"`;=()]*?\bfrom\s*(['"])(?<name>[^'"]+)\1/gm,
  // import 'y';
  /^[ \t]*import\s*(['"])(?<name>[^'"]+)\1/gm,
  // import('y'), also as a type; require('y'). An argument that is no plain
  // string has no name: nobody could say where it leads.
  /\b(?:import|require)\s*\(\s*(?:(['"])(?<name>[^'"]+)\1\s*[,)])?/g,
];

export interface Import {
  /** As written; undefined if computed at run time. */
  name: string | undefined;
  line: number;
}

export function readImports(source: string): Import[] {
  const code = withoutComments(source);
  const found: Import[] = [];
  for (const pattern of patterns) {
    for (const match of code.matchAll(pattern)) {
      const line = code.slice(0, match.index).split('\n').length;
      found.push({ name: match.groups?.name, line });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}

/** Comments become spaces, so that lines stay where they are; strings are left alone. */
export function withoutComments(source: string): string {
  const token =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;
  return source.replace(token, (text) =>
    text.startsWith('/*') || text.startsWith('//') ? text.replace(/[^\n]/g, ' ') : text,
  );
}
