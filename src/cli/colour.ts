/**
 * Colour for people, put into a finished table: a code takes no column, so that nothing moves.
 * Never in JSON, YAML or names, and never in a pipe unless FORCE_COLOR asks for it.
 */
type Paint = (text: string) => string;

const code =
  (start: string): Paint =>
  (text) =>
    `\u001b[${start}m${text}\u001b[0m`;
const critical = code('1;31');
const warning = code('33');
const good = code('32');
const bold = code('1');
const dim = code('2');

/** What is looked for in an answer, in this order. */
const rules: ReadonlyArray<[RegExp, Paint]> = [
  // The heading of a table, or of a group of findings.
  [/^[A-Z][A-Z ]*(?: {2,}[A-Z][A-Z ]*)+$/gm, dim],
  [/^[A-Z][A-Za-z]+ \(\d+\)(?=:)/gm, bold],
  [/\[critical\]|\b\d+ critical\b|^ *hurt now: .*$/gm, critical],
  [/\[warning\]|\b\d+ warning\b|^not seen: /gm, warning],
  [/\bNOT safe\b|^Loses the network:|^Refused:/gm, critical],
  [/(?<=: )safe: .*$|\bno finding in what was seen\b/gm, good],
  [/(?<= {2})refused(?= {2})|(?<= {2})Waiting(?= {2})/g, warning],
  [/(?<=^ {2})cure:/gm, bold],
];

export function colourised(text: string): string {
  return rules.reduce((painted, [pattern, paint]) => painted.replace(pattern, paint), text);
}

/** FORCE_COLOR wins over NO_COLOR, as in Node; both are as no-color.org and force-color.org have it. */
export function wantsColour(
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: term } = env;
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  if (no !== undefined && no !== '') return false;
  return isTerminal && term !== 'dumb';
}
