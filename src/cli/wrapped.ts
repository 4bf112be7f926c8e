/** Broken between words within the width; further lines stand under the first. */
export function wrapped(text: string, columns: number, start: string): string[] {
  const room = Math.max(columns - start.length, 30);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  const blank = ' '.repeat(start.length);
  return lines.map((one, at) => `${at === 0 ? start : blank}${one}`.trimEnd());
}
