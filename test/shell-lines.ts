/** The commands in a block of code of a page. */
export interface Fence {
  /** What stands after the opening marks: sh, console, yaml … */
  language: string;
  text: string;
}

/**
 * The commands of a shell block: `$ ` is a prompt, and what follows without one is output; a
 * backslash at the end of a line goes on; comments are taken off.
 */
export function commandsOf({ language, text }: Fence): string[] {
  const joined = text.replace(/\\\n\s*/g, '');
  const lines = joined.split('\n').filter((line) => line.trim() !== '');
  const isPrompted = lines.some((line) => line.startsWith('$ '));
  if (!isPrompted && language !== 'sh') return [];
  return lines
    .filter((line) => !isPrompted || line.startsWith('$ '))
    .map((line) =>
      line
        .replace(/^\$ /, '')
        .replace(/(^|\s)#.*$/, '')
        .trim(),
    )
    .filter((line) => line !== '');
}

/** The words of a command line, as a shell splits them; quotes are taken off. */
export const wordsOf = (line: string) =>
  [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) => word.replace(/['"]/g, ''));
