import { formatCommunity, formatLargeCommunity } from './attribute/community.ts';
import type { MpReach, MpUnreach } from './attribute/multiprotocol.ts';
import { type Capability, capabilityCode } from './capability.ts';
import type { WireError } from './error.ts';
import { bytesToHex } from './hex.ts';
import type { BgpMessage, DecodeResult } from './message.ts';
import type { NlriRun } from './nlri-run.ts';
import type { OpenMessage } from './open.ts';
import type { UpdateMessage } from './update.ts';

export type Json = string | number | boolean | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A decoded message as `cadastre bgp decode` prints it: names and texts a person can read. */
export function resultJson(result: DecodeResult): JsonObject {
  if (result.kind === 'message') return messageJson(result.message);
  const { action, code, subcode, data, detail } = result.error;
  return { error: { action, code, subcode, data: bytesToHex(data), detail } };
}

export function messageJson(message: BgpMessage): JsonObject {
  switch (message.type) {
    case 'open':
      return openJson(message);
    case 'update':
      return updateJson(message);
    case 'notification':
      return defined({
        type: 'notification',
        code: message.code,
        subcode: message.subcode,
        data: message.data.length === 0 ? undefined : bytesToHex(message.data),
        shutdownCommunication: message.shutdownCommunication,
      });
    case 'route-refresh':
      return {
        type: 'route-refresh',
        afi: message.afi,
        subtype: message.subtype,
        safi: message.safi,
      };
    case 'keepalive':
      return { type: 'keepalive' };
  }
}

function openJson(open: OpenMessage): JsonObject {
  return defined({
    type: 'open',
    version: open.version,
    asn: open.asn,
    holdTime: open.holdSeconds,
    routerId: open.routerId,
    capabilities: open.capabilities.map(capabilityJson),
    extendedOptParams: open.extendedParameters,
  });
}

function capabilityJson(capability: Capability): JsonObject {
  const code = capabilityCode(capability);
  if (capability.name === 'unknown') return { code, raw: bytesToHex(capability.raw) };
  if (capability.name !== 'graceful-restart') return { code, ...capability } as JsonObject;
  const { timeSeconds, families, ...bits } = capability;
  return { code, ...bits, time: timeSeconds, families: families as unknown as Json };
}

function updateJson(update: UpdateMessage): JsonObject {
  return defined({
    type: 'update',
    withdrawn: runJson(update.withdrawn),
    attributes: attributesJson(update),
    nlri: runJson(update.nlri),
    endOfRib: update.endOfRib && { afi: update.endOfRib.afi, safi: update.endOfRib.safi },
    errors: update.errors.length === 0 ? undefined : update.errors.map(errorJson),
  });
}

function attributesJson({ attributes: from, mpReach, mpUnreach }: UpdateMessage): JsonObject {
  return defined({
    origin: from.origin,
    asPath: from.asPath as Json | undefined,
    nextHop: from.nextHop,
    med: from.med,
    localPref: from.localPref,
    atomicAggregate: from.atomicAggregate,
    aggregator: from.aggregator as Json | undefined,
    communities: from.communities?.map(formatCommunity),
    originatorId: from.originatorId,
    clusterList: from.clusterList,
    mpReach: mpReach && mpReachJson(mpReach),
    mpUnreach: mpUnreach && mpUnreachJson(mpUnreach),
    extCommunities: from.extendedCommunities,
    as4Path: from.as4Path as Json | undefined,
    as4Aggregator: from.as4Aggregator as Json | undefined,
    largeCommunities: from.largeCommunities?.map(formatLargeCommunity),
    other: from.other?.map(({ flags, type, value }) => ({ flags, type, value: bytesToHex(value) })),
  });
}

function mpReachJson(reach: MpReach): JsonObject {
  const { afi, safi } = reach;
  if (reach.kind === 'unicast') {
    return { afi, safi, nextHop: reach.nextHops, nlri: runJson(reach.nlri) };
  }
  return { afi, safi, nextHopRaw: bytesToHex(reach.nextHop), nlriRaw: bytesToHex(reach.nlri) };
}

function mpUnreachJson(unreach: MpUnreach): JsonObject {
  const { afi, safi } = unreach;
  if (unreach.kind === 'unicast') return { afi, safi, withdrawn: runJson(unreach.withdrawn) };
  return { afi, safi, withdrawnRaw: bytesToHex(unreach.withdrawn) };
}

function runJson(run: NlriRun): Json {
  return run
    .toArray()
    .map((nlri) =>
      run.addPath ? { prefix: nlri.toString(), pathId: nlri.pathId } : nlri.toString(),
    );
}

function errorJson({ action, attribute, code, subcode, detail }: WireError): JsonObject {
  return defined({ action, attribute, code, subcode, detail });
}

function defined(fields: { readonly [key: string]: Json | undefined }): JsonObject {
  const kept: { [key: string]: Json } = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) kept[key] = value;
  return kept;
}
