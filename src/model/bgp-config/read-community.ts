import type { YamlNode, YamlReader } from './yaml-reader.ts';

/**
 * `64512:100` as 32 bits (RFC 1997); undefined if it is not two numbers of 16 bits.
 * The ConfigMap has no well-known names: `no-export` must be defined to be used.
 */
export function parseCommunityNumbers(text: string): number | undefined {
  const match = /^(\d{1,5}):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [high, low] = [Number(match[1]), Number(match[2])];
  return high > 0xffff || low > 0xffff ? undefined : high * 0x10000 + low;
}

/** `bgp-communities`: names for communities, used in advertisements. */
export function readCommunityNames(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
): Map<string, number> {
  const names = new Map<string, number>();
  for (const [name, { text, node: value }] of reader.texts(node, path)) {
    const community = parseCommunityNumbers(text);
    if (community !== undefined) names.set(name, community);
    else reader.problem(value, `${path}.${name}`, `"${text}" is not a community such as 64512:100`);
  }
  return names;
}

/** One entry of an advertisement's `communities`: a name, or the two numbers. */
export function readCommunity(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
  names: ReadonlyMap<string, number>,
): number | undefined {
  const text = reader.text(node, path);
  if (text === undefined) return undefined;
  const community = names.get(text) ?? parseCommunityNumbers(text);
  if (community !== undefined) return community;
  const sentence = `"${text}" is neither a community such as 64512:100 nor a name of bgp-communities`;
  return reader.problem(node, path, sentence);
}
