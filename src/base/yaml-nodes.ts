import {
  type Alias,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type YAMLMap,
  YAMLParseError,
  type YAMLSeq,
} from 'yaml';

/** What each alias of a document stands for. */
export type AliasTargets = Map<Alias, Node>;

/** In one document. Each is looked for among all anchors. */
const mostAliases = 1_000;
/** That aliases add to one document, aliases of aliases multiplied out. */
const mostAliasedValues = 100_000;

/** Of a node with all aliases in it put in. */
interface Size {
  values: number;
  depth: number;
}

interface Anchored {
  readonly node: Node;
  /** Undefined while it is being counted. */
  size: Size | undefined;
}

const scalarSize: Size = { values: 1, depth: 0 };

/**
 * What no object of Kubernetes and no configuration has: a key twice, a list or a mapping
 * as a key, an alias of nothing or of what it stands in, and aliases of aliases that
 * become more values or levels than the limits allow. The first that is found; the targets of aliases
 * are noted on the way. Recursion is bounded, because the depth of the text is.
 */
export function checkNodes(
  root: Node | null,
  targets: AliasTargets,
  mostDepth: number,
): YAMLParseError | undefined {
  const anchors = new Map<string, Anchored>();
  let aliases = 0;
  let aliasedValues = 0;

  function sizeOf(node: unknown): Size {
    if (isAlias(node)) return sizeOfAlias(node);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return scalarSize;
    const anchored: Anchored = { node, size: undefined };
    if (node.anchor !== undefined) anchors.set(node.anchor, anchored);
    anchored.size = isScalar(node) ? scalarSize : sizeOfCollection(node);
    return anchored.size;
  }

  function sizeOfCollection(node: YAMLMap | YAMLSeq): Size {
    const size: Size = { values: 1, depth: 1 };
    const keys = new Set<unknown>();
    for (const item of node.items) {
      const part = sizeOf(isPair(item) ? valueUnder(item, keys) : item);
      size.values += part.values;
      size.depth = Math.max(size.depth, part.depth + 1);
    }
    if (size.depth > mostDepth) {
      const what = `more than ${mostDepth} levels of nesting by its aliases (*name)`;
      throw fault(node, 'RESOURCE_EXHAUSTION', what);
    }
    return size;
  }

  /** Of a pair whose key has been found right. */
  function valueUnder({ key, value }: Pair, keys: Set<unknown>): unknown {
    if (key !== null && !isScalar(key)) throw fault(key, 'NON_STRING_KEY', notText);
    const name = key === null ? null : key.value;
    if (keys.has(name)) throw fault(key, 'DUPLICATE_KEY', 'Map keys must be unique');
    keys.add(name);
    if (key?.anchor !== undefined) anchors.set(key.anchor, { node: key, size: scalarSize });
    return value;
  }

  function sizeOfAlias(alias: Alias): Size {
    aliases += 1;
    if (aliases > mostAliases) {
      const most = mostAliases.toLocaleString('en');
      throw fault(alias, 'RESOURCE_EXHAUSTION', `more than ${most} aliases (*name)`);
    }
    const anchored = anchors.get(alias.source);
    if (anchored === undefined)
      throw fault(alias, 'BAD_ALIAS', 'an alias (*name) of nothing above');
    if (anchored.size === undefined) {
      throw fault(alias, 'BAD_ALIAS', 'an alias (*name) inside of what it names');
    }
    targets.set(alias, anchored.node);
    aliasedValues += anchored.size.values;
    if (aliasedValues > mostAliasedValues) {
      const what = `aliases (*name) that add more than ${mostAliasedValues.toLocaleString('en')} values`;
      throw fault(alias, 'RESOURCE_EXHAUSTION', what);
    }
    return anchored.size;
  }

  try {
    sizeOf(root);
    return undefined;
  } catch (error) {
    if (error instanceof YAMLParseError) return error;
    throw error;
  }
}

const notText = 'a key that is a list, a mapping or an alias';

function fault(node: unknown, code: YAMLParseError['code'], what: string): YAMLParseError {
  const [start, end] = (node as Node | null)?.range ?? [0, 1];
  return new YAMLParseError([start, end], code, what);
}
