import { type AfiSafi, afiIpv4, ipv4Unicast } from './afi-safi.ts';
import { type AttributeList, decodeAttributeList } from './attribute/attribute-list.ts';
import type { MpReach, MpUnreach } from './attribute/multiprotocol.ts';
import { nextHopType } from './attribute/next-hop.ts';
import type { PathAttributes } from './attribute/path-attributes.ts';
import { errorCode, updateError, WireError } from './error.ts';
import { headerLength } from './header.ts';
import { NlriRun } from './nlri-run.ts';
import { readU16 } from './octets.ts';
import type { SessionContext } from './session-context.ts';

export interface UpdateMessage {
  readonly type: 'update';
  /** The classic fields: IPv4 unicast. */
  readonly withdrawn: NlriRun;
  readonly nlri: NlriRun;
  readonly attributes: PathAttributes;
  readonly mpReach?: MpReach;
  readonly mpUnreach?: MpUnreach;
  /** RFC 4724 §2: the peer has sent all it has of this family. */
  readonly endOfRib?: AfiSafi;
  /** RFC 7606 §2: everything this message announces is to be taken as withdrawn. */
  readonly treatAsWithdraw: boolean;
  /** What was wrong and tolerated. */
  readonly errors: readonly WireError[];
  /** Equal for messages whose attributes (all but MP ones) are equal octets. */
  readonly attributeKey: string;
}

export function decodeUpdate(
  bytes: Uint8Array,
  session: SessionContext,
): UpdateMessage | WireError {
  const withdrawnStart = headerLength + 2;
  const withdrawnEnd = withdrawnStart + readU16(bytes, 19);
  // RFC 4271 §6.3, unchanged by RFC 7606 §3(b): the fields do not fit the message.
  if (withdrawnEnd + 2 > bytes.length) return listFault('withdrawn routes run past the end');
  const attributesStart = withdrawnEnd + 2;
  const attributesEnd = attributesStart + readU16(bytes, withdrawnEnd);
  if (attributesEnd > bytes.length) return listFault('path attributes run past the end');

  const addPath = session.addPathIpv4;
  const withdrawn = NlriRun.check(
    bytes,
    withdrawnStart,
    withdrawnEnd,
    afiIpv4,
    addPath,
    'withdrawn routes',
  );
  if (withdrawn instanceof WireError) return withdrawn;
  const nlri = NlriRun.check(bytes, attributesEnd, bytes.length, afiIpv4, addPath, 'NLRI');
  if (nlri instanceof WireError) return nlri;
  const list = decodeAttributeList(bytes, attributesStart, attributesEnd, session, nlri.count > 0);
  if (list instanceof WireError) return list;

  const errors = [...list.errors, ...missing(list, nlri)];
  const worst = errors.find((error) => error.action === 'treat-as-withdraw');
  if (worst !== undefined && list.describesRoutes && !announces(list, nlri)) {
    // RFC 7606 §5.2: attributes but no routes; perhaps the routes were lost with the fault.
    return worst.asReset('and no routes to withdraw instead');
  }
  const endOfRib = endOfRibFamily(bytes, list, withdrawn, nlri);
  return {
    type: 'update',
    withdrawn,
    nlri,
    attributes: list.attributes,
    ...(list.mpReach === undefined ? {} : { mpReach: list.mpReach }),
    ...(list.mpUnreach === undefined ? {} : { mpUnreach: list.mpUnreach }),
    ...(endOfRib === undefined ? {} : { endOfRib }),
    treatAsWithdraw: worst !== undefined,
    errors,
    attributeKey: list.key,
  };
}

function announces({ mpReach }: AttributeList, nlri: NlriRun): boolean {
  if (nlri.count > 0) return true;
  if (mpReach === undefined) return false;
  return mpReach.kind === 'unicast' ? mpReach.nlri.count > 0 : mpReach.nlri.length > 0;
}

/** RFC 4271 §6.3, RFC 7606 §3(d): well-known mandatory attributes of what is announced. */
function missing(list: AttributeList, nlri: NlriRun): WireError[] {
  if (!announces(list, nlri)) return [];
  const { attributes, errors } = list;
  const faults: WireError[] = [];
  const demand = (type: number, name: string, present: boolean) => {
    // One that was there but broken has been reported already.
    if (present || errors.some((error) => error.attribute === type)) return;
    faults.push(
      new WireError('treat-as-withdraw', {
        code: errorCode.update,
        subcode: updateError.missingWellKnown,
        attribute: type,
        data: new Uint8Array([type]),
        detail: `${name} is missing`,
      }),
    );
  };
  demand(1, 'ORIGIN', attributes.origin !== undefined);
  demand(2, 'AS_PATH', attributes.asPath !== undefined);
  // RFC 4760 §3: routes in MP_REACH_NLRI have their next hop there.
  if (nlri.count > 0) demand(nextHopType, 'NEXT_HOP', attributes.nextHop !== undefined);
  return faults;
}

/** RFC 4724 §2: an empty UPDATE, or one with nothing but an empty MP_UNREACH_NLRI. */
function endOfRibFamily(
  bytes: Uint8Array,
  { mpUnreach, describesRoutes }: AttributeList,
  withdrawn: NlriRun,
  nlri: NlriRun,
): AfiSafi | undefined {
  if (bytes.length === 23) return ipv4Unicast;
  if (mpUnreach === undefined || describesRoutes) return undefined;
  if (withdrawn.count > 0 || nlri.count > 0) return undefined;
  const left =
    mpUnreach.kind === 'unicast' ? mpUnreach.withdrawn.count : mpUnreach.withdrawn.length;
  return left === 0 ? { afi: mpUnreach.afi, safi: mpUnreach.safi } : undefined;
}

function listFault(detail: string): WireError {
  return new WireError('session-reset', {
    code: errorCode.update,
    subcode: updateError.malformedAttributeList,
    detail,
  });
}
