/** Fields that a body in JSON says twice: the last one counts, and a strict client is told. */

/** A place in a text of JSON that is open: an object with its keys, or a list. */
interface Open {
  path: string;
  keys: Set<string> | undefined;
  /** The key that was read last, or how many items came before. */
  at: string | number;
}

/** `spec.replicas`, in order. The text is known to be JSON. */
export function duplicatesOfJson(text: string): string[] {
  const found: string[] = [];
  const opened: Open[] = [];
  let last = 0;
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]/g)) {
    last = index + token.length;
    const here = opened.at(-1);
    if (token === '{' || token === '[') {
      const path = here === undefined ? '' : pathTo(here);
      opened.push({
        path,
        keys: token === '{' ? new Set() : undefined,
        at: token === '{' ? '' : 0,
      });
    } else if (token === '}' || token === ']') opened.pop();
    else if (token === ',' && here?.keys === undefined && here !== undefined) {
      here.at = Number(here.at) + 1;
    } else if (token[0] === '"' && here?.keys !== undefined && isKey(text, last)) {
      const key = JSON.parse(token) as string;
      here.at = key;
      if (here.keys.has(key)) found.push(pathTo(here));
      here.keys.add(key);
    }
  }
  return [...new Set(found)];
}

const colon = /\s*:/y;

function isKey(text: string, end: number): boolean {
  colon.lastIndex = end;
  return colon.test(text);
}

function pathTo({ path, at }: Open): string {
  if (typeof at === 'number') return `${path}[${at}]`;
  return path === '' ? at : `${path}.${at}`;
}
