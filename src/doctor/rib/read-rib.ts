import { gunzipSync } from 'node:zlib';
import { mostDataOctets } from '../../base/text-file.ts';
import { families } from '../../net/family.ts';
import { looksLikeBird, readBird } from './bird.ts';
import { looksLikeEos, readEos } from './eos-json.ts';
import { looksLikeFrr, readFrr } from './frr.ts';
import { looksLikeFrrRoutes, readFrrRoutes } from './frr-routes.ts';
import { looksLikeGobgp, readGobgp } from './gobgp.ts';
import { looksLikeJunosTree, readJunosTree } from './junos-tree.ts';
import { looksLikeMrt, readMrt } from './mrt.ts';
import { looksLikeNxos, readNxos } from './nxos-tree.ts';
import { looksLikeOpenbgpd, readOpenbgpd } from './openbgpd.ts';
import {
  DumpProblem,
  isMap,
  PrefixInterner,
  type ReadRib,
  RibDumpBuilder,
  refusedRib,
} from './rib-dump.ts';
import { readText } from './text-formats.ts';
import { readXml } from './xml-tree.ts';

const known =
  'FRR: vtysh -c "show bgp ipv4 unicast json"; GoBGP: gobgp global rib -j; BIRD: birdc show route all; OpenBGPD: bgpctl -j show rib; Arista, Cisco, SONiC: show ip bgp or show ip route; Junos: show route; Huawei, H3C: display ip routing-table; MRT';

export interface ReadRibOptions {
  interner?: PrefixInterner | undefined;
  /** The VRF whose table counts; the default one where none is named. */
  vrf?: string | undefined;
}

/** A router's dump, its format recognised by its content. */
export function readRib(dump: string | Uint8Array, options: ReadRibOptions = {}): ReadRib {
  const builder = new RibDumpBuilder(options.interner ?? new PrefixInterner());
  try {
    const format = typeof dump === 'string' ? readAny(dump, builder) : readBytes(dump, builder);
    return builder.finish(format, options.vrf);
  } catch (error) {
    if (error instanceof DumpProblem) return refusedRib(error.message);
    throw error;
  }
}

function readBytes(bytes: Uint8Array, builder: RibDumpBuilder): string {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return readBytes(unzipped(bytes), builder);
  const packed = packings.find(({ magic }) => magic.every((octet, at) => bytes[at] === octet));
  if (packed !== undefined) {
    throw new DumpProblem(
      `it is packed with ${packed.name}; unpack it first: ${packed.command} FILE`,
    );
  }
  if (looksLikeMrt(bytes)) return readMrt(bytes, builder);
  // What PowerShell saves.
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  return readAny(new TextDecoder(isWide ? 'utf-16le' : 'utf-8').decode(bytes), builder);
}

const packings = [
  { name: 'bzip2', command: 'bunzip2', magic: [0x42, 0x5a, 0x68] },
  { name: 'xz', command: 'unxz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a] },
  { name: 'zstd', command: 'unzstd', magic: [0x28, 0xb5, 0x2f, 0xfd] },
];

function unzipped(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: mostDataOctets });
  } catch (error) {
    throw new DumpProblem(
      `it is packed with gzip and does not unpack: ${(error as Error).message}`,
    );
  }
}

function readAny(whole: string, builder: RibDumpBuilder): string {
  const text = whole.replace(/^\uFEFF/, '');
  const trimmed = text.trim();
  if (trimmed === '') throw new DumpProblem('the file is empty: nothing was saved in it');
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) {
    // Junos writes its role before the prompt: {master:0}.
    if (!/^\{(?:master|backup|primary|secondary)\b[^"\n]*\}/.test(trimmed)) {
      return readJson(trimmed, builder);
    }
  }
  if (trimmed.startsWith('<') && /^<(?:\?xml|!--|rpc-reply|[\w:.-]+[^>\n]*>\s*<)/.test(trimmed)) {
    return readTree(readXml(trimmed), builder);
  }
  if (looksLikeBird(text)) return readBird(text, builder);
  const inside = structuredPart(text);
  if (inside !== undefined) {
    return inside.startsWith('<') ? readTree(readXml(inside), builder) : readJson(inside, builder);
  }
  const found = readText(text, builder);
  if (found !== undefined) return found;
  const [first = ''] = trimmed.split('\n');
  throw new DumpProblem(
    `it begins with ${JSON.stringify(first.slice(0, 60))}, which is no dump of a known router (${known})`,
  );
}

/** JSON or XML between the echoed command and the next prompt. */
function structuredPart(text: string): string | undefined {
  const found =
    /^[^\n]*[#>]\s*(?:show?|run)\b[^\n]*\|[^\n]*(?:json|xml)[^\n]*\n\s*(?=[{[<])/im.exec(text) ??
    /^[^\n]*\bshow\b[^\n]*\bjson\b[^\n]*\n\s*(?=[{[])/im.exec(text);
  if (found === null) return undefined;
  const rest = text.slice(found.index + found[0].length).trimEnd();
  const lines = rest.split('\n');
  // The prompt behind it is a line after the one that closes the document.
  const end = lines.findLastIndex((line) => /[}\]>]\s*$/.test(line) && !/^\S+[>]\s*$/.test(line));
  const around = [...text.slice(0, found.index).split('\n'), ...lines.slice(end + 1)];
  const suspect = around.find((line) => /\d\/\d{1,3}\b/.test(line));
  if (suspect !== undefined) {
    throw new DumpProblem(`${JSON.stringify(suspect.trim())} beside the table is not understood`);
  }
  return end >= 0 ? lines.slice(0, end + 1).join('\n') : rest;
}

function readTree(value: unknown, builder: RibDumpBuilder): string {
  if (looksLikeJunosTree(value)) return readJunosTree(value, builder);
  if (looksLikeNxos(value)) return readNxos(value, builder);
  throw new DumpProblem(`it is XML, and no table of a known router (${known})`);
}

function readJson(text: string, builder: RibDumpBuilder): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const isCut = !/[}\]]$/.test(text);
    const why = (error as Error).message;
    throw new DumpProblem(isCut ? `the JSON ends in the middle: the dump is cut short` : why);
  }
  if (isMap(value)) {
    if (looksLikeFrr(value)) return readFrr(value, builder);
    if (looksLikeOpenbgpd(value)) return readOpenbgpd(value, builder);
    if (looksLikeGobgp(value)) return readGobgp(value, builder);
    if (looksLikeFrrRoutes(value)) return readFrrRoutes(value, builder);
  }
  // Wrapped by an API, or inside a list of answers.
  if (looksLikeEos(value)) return readEos(value, builder);
  if (looksLikeNxos(value)) return readNxos(value, builder);
  if (looksLikeJunosTree(value)) return readJunosTree(value, builder);
  if (!isMap(value)) throw new DumpProblem(`it is a JSON list, not a table of routes (${known})`);
  // How GoBGP and OpenBGPD print a table without routes.
  if (Object.keys(value).length === 0) return 'empty';
  const keys = Object.keys(value).slice(0, 5).join(', ');
  throw new DumpProblem(`its keys are ${keys}, which is no table of a known router (${known})`);
}

/** Nothing in it says which family an empty table is of; then it is of those not shown otherwise. */
export const anyFamily = families;
