/**
 * Every YAML text that comes from outside is read here, and a text that was written to
 * keep the reader busy is refused instead. Measured with yaml 2.9: 200,000 brackets ended
 * the process, because it opens each by a call; 100,000 keys of one mapping are compared
 * each with each, 100,000 faults are each shown in a copy of their line, 50,000 aliases
 * each look through all anchors, a `!!omap` looks through all of its keys, and a mapping
 * as the key of a mapping is written out as text at every level. What is left when these
 * are switched off, forbidden or counted is work that grows with the number of tokens:
 * about 3 µs each, 10 µs each if each is a fault. So depth and tokens are counted while
 * the text is read, and reading stops at the limit.
 */
import {
  Composer,
  type CST,
  Document,
  Lexer,
  type LineCounter,
  Parser,
  YAMLParseError,
} from 'yaml';
import { type AliasTargets, checkNodes } from './yaml-nodes.ts';

export interface YamlLimits {
  /** Words, signs, spaces and ends of lines: a line `key: value` has 6 to 8. */
  readonly tokens: number;
  /** What a reader should do whose text is honest and larger. */
  readonly remedy: string;
}

/** Configurations and requests: some 15,000 lines, read in less than a second. */
export const settingsLimits: YamlLimits = { tokens: 120_000, remedy: '' };
/** Lists and mappings inside of each other. The deepest schema of a CRD has some 40. */
export const mostYamlDepth = 100;
/** Faults beyond these help nobody, and each costs the trace of its calls. */
const mostFaults = 10;
/** Lines that begin with `%`. Kubernetes uses none. */
const mostDirectives = 100;

export interface YamlDocument {
  /** With what is wrong in its `errors`: then its contents are not to be used. */
  readonly document: Document;
  readonly targets: AliasTargets;
  /** As JSON would give it. */
  value(): unknown;
}

/** The documents of a text, one after the other, so that each can be dropped before the next. */
export function* readYamlDocuments(
  text: string,
  lines: LineCounter,
  limits = settingsLimits,
): Generator<YamlDocument> {
  const composer = new Composer({
    uniqueKeys: false,
    resolveKnownTags: false,
    logLevel: 'silent',
  });
  try {
    for (const document of composer.compose(tokensOf(text, lines, limits))) {
      yield checked(document);
    }
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    const document = new Document(null);
    document.errors.push(error);
    yield checked(document);
  }
}

/** The one document of a text; a second one is an error of code MULTIPLE_DOCS. */
export function readYamlDocument(
  text: string,
  lines: LineCounter,
  limits = settingsLimits,
): YamlDocument {
  let first: YamlDocument | undefined;
  for (const one of readYamlDocuments(text, lines, limits)) {
    if (first === undefined) first = one;
    else {
      const at = one.document.errors[0]?.pos ?? one.document.range ?? [0, 1];
      first.document.errors.push(
        new YAMLParseError([at[0], at[1]], 'MULTIPLE_DOCS', 'more than one document'),
      );
      break;
    }
  }
  return first ?? checked(new Document(null));
}

/** The parser's tokens as long as the text keeps to the limits. */
function* tokensOf(text: string, lines: LineCounter, limits: YamlLimits): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let count = 0;
  let faults = 0;
  let directives = 0;
  let isScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > limits.tokens) {
      const most = limits.tokens.toLocaleString('en');
      throw refused(parser.offset, `more than ${most} tokens of YAML${limits.remedy}`);
    }
    const bad = lexeme[0] === '"' && !isScalar ? unknownEscape(lexeme) : -1;
    if (bad !== -1) {
      const what = 'a backslash in double quotes before what is no escape sequence';
      throw new YAMLParseError([parser.offset + bad, parser.offset], 'BAD_DQ_ESCAPE', what);
    }
    isScalar = lexeme === scalarMark;
    for (const token of parser.next(lexeme)) {
      if (token.type === 'error' && ++faults > mostFaults) continue;
      if (token.type === 'directive' && ++directives > mostDirectives) {
        throw refused(parser.offset, `more than ${mostDirectives} directives (%)`);
      }
      yield token;
    }
    // The document itself and the value that is being read stand there, too.
    if (parser.stack.length > mostYamlDepth + 2) {
      throw refused(parser.offset, `more than ${mostYamlDepth} levels of nesting`);
    }
  }
  yield* parser.end();
}

/** The lexer's: what follows is the text of a scalar, whatever it begins with. */
const scalarMark = '\u001f';
/** YAML 1.2.2 §5.7, the end of a line included. */
const escapes =
  /[0abtnvfre "/\\N_LP\t\r\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U00(?:0[\da-fA-F]|10)[\da-fA-F]{4}/y;

/** Where the first one stands, or -1: the composer would note each of a million. */
function unknownEscape(quoted: string): number {
  for (let at = quoted.indexOf('\\'); at !== -1; at = quoted.indexOf('\\', escapes.lastIndex)) {
    escapes.lastIndex = at + 1;
    if (!escapes.test(quoted)) return at;
  }
  return -1;
}

function checked(document: Document): YamlDocument {
  const targets: AliasTargets = new Map();
  if (document.errors.length === 0) {
    const fault = checkNodes(document.contents, targets, mostYamlDepth);
    if (fault !== undefined) document.errors.push(fault);
  }
  document.errors.splice(mostFaults);
  return {
    document,
    targets,
    // Its own count of aliases takes a look at the whole document for each.
    value: () => document.toJS({ maxAliasCount: -1 }),
  };
}

function refused(at: number, what: string): YAMLParseError {
  return new YAMLParseError([at, at + 1], 'RESOURCE_EXHAUSTION', what);
}
