import type { ProtobufFields } from '../../base/protobuf-fields.ts';
import type { StoredObject } from '../resource.ts';
import { decodeMeta, decodeTime } from './object-meta.ts';

/**
 * A Node from protobuf, cut down while it is read: who it is, its labels and
 * annotations, its pod CIDRs, taints, addresses and conditions. Names and shapes
 * are those of its JSON.
 */
export interface DecodedNode extends StoredObject {
  spec: { podCIDR?: string; podCIDRs?: string[]; unschedulable?: true; taints?: Taint[] };
  status: { addresses?: NodeAddress[]; conditions?: NodeCondition[] };
}

interface Taint {
  key: string;
  value?: string;
  effect: string;
}

interface NodeAddress {
  type: string;
  address: string;
}

interface NodeCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export function decodeNode(fields: ProtobufFields): DecodedNode {
  const node: DecodedNode = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: '' },
    spec: {},
    status: {},
  };
  while (fields.next()) {
    if (fields.number === 1) node.metadata = decodeMeta(fields.inside());
    else if (fields.number === 2) decodeSpec(fields.inside(), node.spec);
    else if (fields.number === 3) decodeNodeStatus(fields.inside(), node.status);
  }
  return node;
}

function decodeSpec(fields: ProtobufFields, spec: DecodedNode['spec']): void {
  while (fields.next()) {
    if (fields.number === 1 && fields.end > fields.start) spec.podCIDR = fields.text();
    else if (fields.number === 4 && fields.value !== 0) spec.unschedulable = true;
    else if (fields.number === 5) {
      spec.taints ??= [];
      spec.taints.push(decodeTaint(fields.inside()));
    } else if (fields.number === 7) {
      spec.podCIDRs ??= [];
      spec.podCIDRs.push(fields.text());
    }
  }
}

function decodeTaint(fields: ProtobufFields): Taint {
  const taint: Taint = { key: '', effect: '' };
  while (fields.next()) {
    if (fields.number === 1) taint.key = fields.text();
    else if (fields.number === 2 && fields.end > fields.start) taint.value = fields.text();
    else if (fields.number === 3) taint.effect = fields.text();
  }
  return taint;
}

function decodeNodeStatus(fields: ProtobufFields, status: DecodedNode['status']): void {
  while (fields.next()) {
    if (fields.number === 4) {
      status.conditions ??= [];
      status.conditions.push(decodeCondition(fields.inside()));
    } else if (fields.number === 5) {
      status.addresses ??= [];
      status.addresses.push(decodeAddress(fields.inside()));
    }
  }
}

function decodeAddress(fields: ProtobufFields): NodeAddress {
  const address = { type: '', address: '' };
  while (fields.next()) {
    if (fields.number === 1) address.type = fields.text();
    else if (fields.number === 2) address.address = fields.text();
  }
  return address;
}

function decodeCondition(fields: ProtobufFields): NodeCondition {
  const condition: NodeCondition = { type: '', status: '' };
  while (fields.next()) {
    switch (fields.number) {
      case 1:
        condition.type = fields.text();
        break;
      case 2:
        condition.status = fields.text();
        break;
      case 3:
        setTime(condition, 'lastHeartbeatTime', fields);
        break;
      case 4:
        setTime(condition, 'lastTransitionTime', fields);
        break;
      case 5:
        if (fields.end > fields.start) condition.reason = fields.text();
        break;
      case 6:
        if (fields.end > fields.start) condition.message = fields.text();
        break;
    }
  }
  return condition;
}

/** A time that was never set is an empty message here, and null in JSON. */
function setTime(
  condition: NodeCondition,
  key: 'lastHeartbeatTime' | 'lastTransitionTime',
  fields: ProtobufFields,
): void {
  if (fields.end > fields.start) condition[key] = decodeTime(fields.inside());
}
