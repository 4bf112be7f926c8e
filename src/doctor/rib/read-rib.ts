import { families } from '../../net/family.ts';
import { looksLikeBird, readBird } from './bird.ts';
import { looksLikeFrr, readFrr } from './frr.ts';
import { looksLikeGobgp, readGobgp } from './gobgp.ts';
import { looksLikeOpenbgpd, readOpenbgpd } from './openbgpd.ts';
import { isMap, PrefixInterner, type ReadRib, RibDumpBuilder, refusedRib } from './rib-dump.ts';

const known =
  'FRR: vtysh -c "show bgp ipv4 unicast json"; GoBGP: gobgp global rib -j; BIRD: birdc show route all; OpenBGPD: bgpctl -j show rib';

/** A router's dump, its format recognised by its content. */
export function readRib(text: string, interner = new PrefixInterner()): ReadRib {
  const trimmed = text.trim();
  if (trimmed === '') return refusedRib('the file is empty: nothing was saved in it');
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) return readJson(trimmed, interner);
  if (looksLikeBird(text)) return readBird(text, interner);
  const [first = ''] = trimmed.split('\n');
  return refusedRib(
    `it begins with ${JSON.stringify(first.slice(0, 60))}, which is no dump of a known router (${known})`,
  );
}

function readJson(text: string, interner: PrefixInterner): ReadRib {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const isCut = !/[}\]]$/.test(text);
    const why = (error as Error).message;
    return refusedRib(isCut ? `the JSON ends in the middle: the dump is cut short` : why);
  }
  if (!isMap(value)) return refusedRib(`it is a JSON list, not a table of routes (${known})`);
  if (looksLikeFrr(value)) return readFrr(value, interner);
  if (looksLikeOpenbgpd(value)) return readOpenbgpd(value, interner);
  if (looksLikeGobgp(value)) return readGobgp(value, interner);
  if (Object.keys(value).length === 0) {
    // How GoBGP and OpenBGPD print a table without routes.
    return { kind: 'rib', rib: new RibDumpBuilder(interner).dump('empty') };
  }
  const keys = Object.keys(value).slice(0, 5).join(', ');
  return refusedRib(`its keys are ${keys}, which is no table of a known router (${known})`);
}

/** Nothing in it says which family an empty table is of; then it is of those not shown otherwise. */
export const anyFamily = families;
