import type { Tree } from './data-tree.ts';
import { DumpProblem } from './rib-dump.ts';

/**
 * XML as NX-OS and Junos print it (`| xml`, `| display xml`), read into the form that Junos' JSON
 * has: an element is a map of lists by child name, its text is `data`. Namespaces, attributes,
 * comments and declarations say nothing about routes. An element that is not closed means that
 * the file is cut.
 */
const token =
  /<!--[\s\S]*?-->|<[?!][^>]*>|<(\/?)([\w.:-]+)((?:"[^"]*"|'[^']*'|[^<>"'])*?)(\/?)>|([^<]+)/g;

export function readXml(text: string): Tree {
  const root: Tree = {};
  const open: Array<{ name: string; node: Tree }> = [{ name: '', node: root }];
  const end = text.lastIndexOf('>') + 1;
  let at = text.indexOf('<');
  token.lastIndex = at;
  while (at < end) {
    const found = token.exec(text);
    if (found === null || found.index !== at) throw cut(text, at);
    at = token.lastIndex;
    const [, slash, rawName, , empty, words] = found;
    const top = open.at(-1)!;
    if (words !== undefined) {
      if (words.trim() === '') continue;
      if (open.length === 1 && !/\d\/\d/.test(words)) continue;
      // Routers write text or elements into an element, never both.
      if (open.length === 1 || Object.keys(top.node).length > 0) throw cut(text, at);
      top.node.data = plain(words.trim());
      continue;
    }
    if (rawName === undefined) continue;
    const name = rawName.replace(/^.*:/, '');
    if (slash === '/') {
      if (open.length < 2 || top.name !== name) throw cut(text, at);
      open.pop();
      // After the end of the document: a prompt, or NETCONF's "]]>]]>".
      if (open.length > 1) continue;
      if (/\d\/\d/.test(text.slice(at))) throw cut(text, at);
      break;
    }
    if ('data' in top.node) throw cut(text, at);
    const node: Tree = {};
    const siblings = top.node[name];
    if (Array.isArray(siblings)) siblings.push(node);
    else top.node[name] = [node];
    if (empty !== '/') open.push({ name, node });
  }
  if (open.length > 1) {
    throw new DumpProblem(`the XML ends before <${open.at(-1)!.name}> does: the dump is cut short`);
  }
  return root;
}

function cut(text: string, at: number): DumpProblem {
  const line = text.slice(0, at).split('\n').length;
  return new DumpProblem(`line ${line} is no XML: the dump is cut short, or damaged`);
}

const entities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
};

function plain(text: string): string {
  return text.replace(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole);
}
