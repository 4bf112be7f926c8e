/**
 * A router's text output as it was saved: with or without the prompt and the
 * echoed command, CRLF, terminal codes, a banner, several commands in one file.
 * It is cut into sections, one for each command, each line with its number.
 * A pager's prompt in the text means that lines may be missing: such a file is refused.
 */
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

export interface DumpLine {
  number: number;
  text: string;
}

export interface DumpSection {
  /** The echoed command, where the file shows it. */
  command: string | undefined;
  lines: DumpLine[];
  /** The router's next prompt follows it: its end was seen. */
  isEnded: boolean;
  /** It began with a prompt, so that one should follow. */
  isPrompted: boolean;
  /** Its last line has no end: it may be the half of one. */
  isOpen: boolean;
}

const pager = /-{2,}\s*\(?\s*more\b[^\n]{0,20}?\)?\s*-{2,}|<-+\s*more\s*-+>/i;
/** Colours, cursor movements, and what erases a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal codes are what is removed here
const terminalCodes = /\u001b\[[0-9;?]*[A-Za-z]|\u001b[=>]|[\u0007\u0000]/g;
const promptAndCommand =
  /^(?<prompt>(?:[\w.@:~/()-]{1,80}(?:\[[\w~:-]+\])?[#>$%]|<[\w.@~:-]{1,80}>|\[[~*]?[\w.@:-]{1,80}\]))\s*(?<command>(?:do\s+|run\s+|sudo\s+)?(?:sho?w?|disp?l?a?y?|vtysh|birdc?|gobgp|bgpctl|cli)\b.*)$/i;
const barePrompt =
  /^(?:[\w.@:~/()-]{2,80}(?:\[[\w~:-]+\])?[#>]|<[\w.@~:-]{1,80}>|\[[~*]?[\w.@:-]{1,80}\])\s*(?:exit|quit|logout)?$/;
const bareCommand = /^(?:show?|display)\s+(?:ip|ipv6|bgp|route)\b.*$/i;
/** What routers put around the answer to any command. */
const aside =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} +\d+ [\d:.]+ .*|Load for five secs: .*|Time source is .*|\{(?:master|backup|primary|secondary)[^}]*\}(?:\[edit\])?|Building configuration\.*)$/;

export function sectionsOf(text: string): DumpSection[] {
  const isOpen = !text.endsWith('\n');
  const lines = text
    .split('\n')
    .map((raw, at) => ({ number: at + 1, text: cleanLine(raw, at + 1) }));
  const sections: DumpSection[] = [];
  let current = newSection(undefined, false);
  let prompt: string | undefined;
  const last = lines.findLastIndex((line) => line.text !== '');
  for (const [at, line] of lines.entries()) {
    const found = promptAndCommand.exec(line.text)?.groups;
    const isPrompt =
      found !== undefined ||
      (prompt !== undefined && line.text.startsWith(prompt)) ||
      (at === last && prompt === undefined && barePrompt.test(line.text));
    if (!isPrompt && !(sections.length === 0 && isEmpty(current) && bareCommand.test(line.text))) {
      if (!aside.test(line.text)) current.lines.push(line);
      continue;
    }
    current.isEnded = isPrompt;
    sections.push(current);
    prompt = found?.prompt ?? prompt;
    const command = found?.command ?? line.text.slice(isPrompt ? (prompt?.length ?? 0) : 0).trim();
    current = newSection(command, isPrompt);
  }
  current.isOpen = isOpen;
  sections.push(current);
  return sections.filter((section) => !isEmpty(section)).map(trimmed);
}

const newSection = (command: string | undefined, isPrompted: boolean): DumpSection => ({
  command,
  lines: [],
  isEnded: false,
  isPrompted,
  isOpen: false,
});

/**
 * A table whose end was not seen is a part where something says that there was more to come. One
 * that ends with a line, without prompts and totals, is taken for whole: nothing can be seen.
 */
export function judgeEnd(
  { isEnded, isPrompted, isOpen }: DumpSection,
  builder: RibDumpBuilder,
  isCounted: boolean,
): void {
  if (isEnded || isCounted) return;
  if (isPrompted) {
    builder.isPart("the file begins with the router's prompt and does not end with it");
  } else if (isOpen) builder.isPart('the last line of the file has no end');
}

function cleanLine(raw: string, number: number): string {
  let text = raw.replace(terminalCodes, '').replace(/\r+$/, '');
  if (/more/i.test(text) && pager.test(text)) {
    throw new DumpProblem(
      `line ${number} is the pager's "${pager.exec(text)?.[0]}": lines may be missing. Switch the pager off and save it again (terminal length 0, screen-length 0 temporary, | no-more)`,
    );
  }
  // What a pager or an editor overwrote: what stands after it is what was seen.
  if (text.includes('\r')) text = text.slice(text.lastIndexOf('\r') + 1);
  if (text.includes('\b')) text = text.slice(text.lastIndexOf('\b') + 1);
  return text.replaceAll('\t', '        ').trimEnd();
}

const isEmpty = ({ lines }: DumpSection) => lines.every(({ text }) => text === '');

function trimmed(section: DumpSection): DumpSection {
  const { lines } = section;
  const first = lines.findIndex(({ text }) => text !== '');
  const last = lines.findLastIndex(({ text }) => text !== '');
  return { ...section, lines: lines.slice(first, last + 1) };
}

/** The command asked for a part of the table: its totals are of more than it lists. */
export function isFiltered({ command }: DumpSection): boolean {
  return (
    command !== undefined &&
    /\b(bgp|static|connected|ospf|isis|rip|eigrp|protocol|exact|longer|include|match|begin|section|grep|active-path|receive-protocol)\b/i.test(
      command.replace(/^\S*\s+(?:ip|ipv6)?\s*bgp\b/i, ''),
    )
  );
}

export function quoted({ number, text }: DumpLine): string {
  return `line ${number}: ${JSON.stringify(text.trim().slice(0, 70))}`;
}

export function notUnderstood(line: DumpLine, format: string): DumpProblem {
  return new DumpProblem(
    `${quoted(line)} is not understood as a line of ${format}; if the router printed it so, remove what is no part of the table, or report it as a shape that is missing`,
  );
}

export function cutShort(line: DumpLine | undefined, why: string): DumpProblem {
  const at = line === undefined ? '' : `${quoted(line)} `;
  return new DumpProblem(`${at}${why}: the dump is cut short`);
}
