/**
 * One agent serves one Node. Two machines with one node name, and a machine that was
 * replaced while the old one still runs, look like one Node to the API server. Two facts
 * tell them apart: the addresses of the machine, and NodeReport.spec.agent.
 *
 *   agent: { id: 9f3c…-5d1e…, machine: 9f3c… }
 *            └ of whoever wrote it    └ whose Node it is
 *
 * `machine` only changes when another machine takes the Node over. To find out whether the
 * machine is alive, a newcomer writes its own id and leaves `machine` as it is. An agent that
 * sees a question in its report writes its id again; that is the answer. A restart of the
 * machine's own agent in between finds its machine there, and serves at once.
 */
import type { ReportingAgent } from '../../model/node-report.ts';
import { type Address, parseAddress } from '../../net/address.ts';

/** Of one start; `machine` is the hash of this machine's id. */
export function agentOf(machine: string, start: string): ReportingAgent {
  return { id: `${machine}-${start}`.slice(0, 64), machine };
}

export type NodeHolder =
  /** No agent has said yet that the Node is its machine's. */
  | { kind: 'nobody' }
  /** `question`: the machine that asks whether we are alive. */
  | { kind: 'this-machine'; isThisAgent: boolean; question?: string }
  /** `asker`: who waits for an answer; undefined if the machine itself wrote last. */
  | { kind: 'other-machine'; machine: string; asker: string | undefined };

/** Whose Node it is, as its report says. */
export function holderOf(stated: ReportingAgent | undefined, own: ReportingAgent): NodeHolder {
  if (stated === undefined || stated.machine === '') return { kind: 'nobody' };
  const isAnswer = stated.id.startsWith(`${stated.machine}-`);
  const asker = isAnswer ? undefined : (stated.id.split('-')[0] ?? '');
  if (stated.machine !== own.machine) {
    return { kind: 'other-machine', machine: stated.machine, asker };
  }
  const isThisAgent = stated.id === own.id;
  return { kind: 'this-machine', isThisAgent, ...(asker === undefined ? {} : { question: asker }) };
}

/**
 * Why this machine cannot be the Node: it has none of its InternalIPs, on no interface. A
 * Node without addresses says nothing yet.
 */
export function lacksAddresses(
  node: { name: string; addresses: readonly string[] },
  held: Iterable<Address>,
): string | undefined {
  const wanted = node.addresses.flatMap((text) => parseAddress(text) ?? []);
  if (wanted.length === 0) return undefined;
  const own = new Set([...held].map((address) => `${address}`));
  if (wanted.some((address) => own.has(`${address}`))) return undefined;
  return `the Node ${node.name} has the address ${wanted.join(', ')}, and no interface of this machine has it: another machine is ${node.name}, or the agent was given a wrong node name`;
}
