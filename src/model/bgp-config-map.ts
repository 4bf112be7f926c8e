/**
 * The configuration of MetalLB 0.12 and of Cilium 1.11's BGP mode, whole, as
 * plain values: `peers`, `address-pools`, `bgp-communities`. It loads from the
 * text of `config.yaml`, from a file of the ConfigMap around it, or from that
 * object as the API server returns it.
 *
 * Nothing is skipped in silence. A key this grammar does not have, a value that
 * cannot work, a pool that overlaps another: each is a problem with its line and
 * its key, and all of them are reported at once. With a single problem there is
 * no configuration, because half of one announces half a network.
 *
 * Several node selectors of a peer are ORed, labels and expressions of one are
 * ANDed, no selector means every node: as in MetalLB.
 */
import { isMap, isScalar, type Node, type Scalar } from 'yaml';
import { DisjointSpans } from '../net/span-list.ts';
import { spanOf } from './bgp-config/address-range.ts';
import { readCommunityNames } from './bgp-config/read-community.ts';
import { readConfigMapPeer } from './bgp-config/read-peer.ts';
import { type ConfiguredPool, readConfigMapPool } from './bgp-config/read-pool.ts';
import {
  type ConfigProblem,
  type FieldReader,
  openYaml,
  shownKey,
  type YamlReader,
} from './bgp-config/yaml-reader.ts';
import type { BgpPeer } from './bgp-peer.ts';

export type { AddressRange } from './bgp-config/address-range.ts';
export type { ConfiguredAdvertisement, ConfiguredPool } from './bgp-config/read-pool.ts';
export type { ConfigProblem } from './bgp-config/yaml-reader.ts';

export interface BgpConfig {
  readonly peers: readonly BgpPeer[];
  readonly pools: readonly ConfiguredPool[];
  /** Names for communities, already put in where they are used. */
  readonly communities: ReadonlyMap<string, number>;
}

export type ConfigResult =
  | { readonly kind: 'config'; readonly config: BgpConfig }
  | { readonly kind: 'refused'; readonly problems: readonly ConfigProblem[] };

/** Cilium's key, then MetalLB's. */
const dataKeys = ['config.yaml', 'config'] as const;

/** A ConfigMap as the API server returns it; lines count from the start of the text in it. */
export function loadConfigMapObject(object: {
  readonly data?: Readonly<Record<string, string>>;
}): ConfigResult {
  const key = dataKeys.find((one) => object.data?.[one] !== undefined);
  const stray = Object.keys(object.data ?? {}).find((one) => one !== key);
  if (stray !== undefined) return refused({ line: 1, key: `data.${stray}`, sentence: strayKey });
  if (key === undefined) return refused({ line: 1, key: 'data', sentence: missingKey });
  return loadText(object.data![key]!, 0);
}

/** The text of config.yaml, or of a YAML file that holds the ConfigMap. */
export function loadConfigMap(text: string): ConfigResult {
  const { document, lines, reader } = openYaml(text);
  if (reader.problems.length > 0) return refused(...reader.problems);
  const { contents } = document;
  if (!isMap(contents) || document.get('kind') !== 'ConfigMap') return loadText(text, 0);
  const data = contents.get('data', true) as unknown as Node | undefined;
  if (!isMap(data)) return refused({ line: 1, key: 'data', sentence: missingKey });
  const key = dataKeys.find((one) => data.has(one));
  for (const pair of data.items) {
    const name = isScalar(pair.key) ? String(pair.key.value) : '';
    if (name === key) continue;
    const offset = (pair.key as Node | null)?.range?.[0] ?? 0;
    const { line } = lines.linePos(offset);
    const shown = shownKey(name, pair.value as Node | null);
    return refused({ line, key: `data.${shown}`, sentence: strayKey });
  }
  if (key === undefined) return refused({ line: 1, key: 'data', sentence: missingKey });
  const inner = data.get(key, true) as unknown as Scalar;
  // Lines of a block scalar are lines of the file, from the one below its `|` on.
  const isBlock = inner.type === 'BLOCK_LITERAL';
  const above = isBlock ? lines.linePos(inner.range?.[0] ?? 0).line : 0;
  return loadText(String(inner.value), above);
}

const missingKey = 'a ConfigMap for BGP holds its configuration under config.yaml (or config)';
const strayKey = 'a ConfigMap for BGP holds nothing but config.yaml (or config)';

function refused(...problems: readonly ConfigProblem[]): ConfigResult {
  return { kind: 'refused', problems };
}

function loadText(text: string, linesAbove: number): ConfigResult {
  const { document, reader } = openYaml(text, linesAbove);
  if (reader.problems.length > 0) return refused(...reader.problems);
  const config = readConfig(reader, document.contents);
  return reader.problems.length > 0
    ? refused(...reader.problems.toSorted((a, b) => a.line - b.line))
    : { kind: 'config', config };
}

function readConfig(reader: YamlReader, root: Node | null): BgpConfig {
  let communities: ReadonlyMap<string, number> = new Map();
  const peers: BgpPeer[] = [];
  const pools: ConfiguredPool[] = [];
  const poolNodes: Parameters<FieldReader>[] = [];
  reader.mapping(root, '', {
    peers: (value, key) => {
      reader.list(value, key, (item, path) => {
        const peer = readConfigMapPeer(reader, item, path);
        if (peer !== undefined) peers.push(peer);
      });
    },
    'address-pools': (value, key) => {
      reader.list(value, key, (item, path) => poolNodes.push([item, path]));
    },
    'bgp-communities': (value, key) => {
      communities = readCommunityNames(reader, value, key);
    },
    'bfd-profiles': 'BFD is not supported; take the profiles out',
  });
  const poolsBefore = new PoolsBefore();
  // Pools last: they may use names of communities that stand below them.
  for (const [node, path] of poolNodes) {
    const pool = readConfigMapPool(reader, node, path, communities);
    if (pool === undefined) continue;
    poolsBefore.check(reader, node, path, pool);
    pools.push(pool);
  }
  return { peers, pools, communities };
}

/** No two pools of one name, and no address in two pools. */
class PoolsBefore {
  readonly #names = new Set<string>();
  readonly #taken = new DisjointSpans<string>();

  check(reader: YamlReader, node: Node | null, path: string, pool: ConfiguredPool): void {
    if (this.#names.has(pool.name)) {
      reader.problem(node, `${path}.name`, `two address pools are called ${pool.name}`);
    }
    this.#names.add(pool.name);
    const spans = pool.addresses.map(spanOf);
    for (const span of spans) {
      const other = this.#taken.lowest(span);
      if (other === undefined) continue;
      const sentence = `${span.text} overlaps ${other.span.text} of pool ${other.owner}`;
      reader.problem(node, `${path}.addresses`, sentence);
    }
    // Once there is a problem there is no configuration: nothing has to be found behind it.
    if (reader.problems.length > 0) return;
    for (const span of spans) this.#taken.add([span], pool.name);
  }
}
