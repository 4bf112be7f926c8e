/**
 * A site without wires and without clocks: an API server, machines with an agent each,
 * routers, and an operator. Every link of it can be cut. Time is a number of milliseconds
 * that the history moves on; the judgement on both sides is the real code.
 */
import { ApiModel } from '../register/api-model.ts';
import { blockOf, nodeObject, poolObject } from '../register/objects.ts';
import { SimMachine } from './machine.ts';
import { SimOperator } from './operator.ts';
import { SimRouter } from './router.ts';

export const tickMs = 5_000;

/** Small numbers with the proportions of the defaults. */
export const limits = {
  cooldownSeconds: 60,
  reconfirmAfterMs: 30_000,
  /** Hold time and graceful restart: so long a router, or an agent, believes in a dead session. */
  holdMs: 15_000,
  missingGraceMs: 60_000,
  isHeardMs: 20_000,
  /** An address that goes for a moment, and how long another machine of the name has to answer. */
  addressGraceMs: 30_000,
  answerWithinMs: 90_000,
};

export interface SiteChoices {
  /** Of the pool; absent: only nodes without an agent are released by time. */
  releaseByTimeSeconds?: number | undefined;
  /** Four blocks for up to five machines: what is released is used again at once. */
  isSmall: boolean;
  /** Whether the operator hears the routers. */
  hasWitness: boolean;
  /** Whether routers advertise to a node what other nodes advertise to them. */
  routersAdvertise: boolean;
}

export class Site {
  nowMs = 1_000_000;
  readonly api = new ApiModel();
  isApiUp = true;
  /** Since when it is down for everybody. */
  apiDownSinceMs: number | undefined;
  readonly choices: SiteChoices;
  readonly routers = [new SimRouter('router1', 0), new SimRouter('router2', 1)];
  readonly machines: SimMachine[] = [];
  readonly operator: SimOperator;

  constructor(choices: SiteChoices) {
    this.choices = choices;
    const { cooldownSeconds } = limits;
    const { releaseByTimeSeconds } = choices;
    this.api.create(
      poolObject('pool', {
        // The lowest free block is taken first: one that is released too early is used at once.
        cidrs: [choices.isSmall ? '10.0.0.0/22' : '10.0.0.0/20'],
        cooldownSeconds,
        ...(releaseByTimeSeconds === undefined ? {} : { releaseByTimeSeconds }),
      }),
    );
    this.operator = new SimOperator(this);
  }

  /** A new machine, or another one of a name that exists. */
  addMachine(nodeName: string): SimMachine {
    const machine = new SimMachine(this, nodeName, `192.0.2.${this.machines.length + 1}`);
    this.machines.push(machine);
    this.registerNode(machine);
    return machine;
  }

  /** What a kubelet does at its start; a Node of that name that is there is taken for its own. */
  registerNode(machine: SimMachine): void {
    if (this.api.get('Node', machine.nodeName) !== undefined) return;
    this.api.create(nodeObject(machine.nodeName, { addresses: [machine.address] }));
  }

  deleteNode(name: string): void {
    this.api.delete('Node', name);
  }

  /** The names of nodes whose blocks somebody deleted; the operator has yet to take them back. */
  readonly lost = new Set<string>();

  loseBlocks(nodeName: string): void {
    if (this.api.get('Node', nodeName) === undefined) return;
    this.lost.add(nodeName);
    for (const object of [...this.api.list('NodeBlock')]) {
      const block = blockOf(object);
      if (block.nodeName === nodeName && block.phase === 'Active') {
        this.api.delete('NodeBlock', block.name);
      }
    }
  }

  /** One step of everybody, in an order that the history chooses. */
  step(order: number): void {
    this.nowMs += tickMs;
    this.api.nowMs += tickMs;
    if (this.isApiUp) this.apiDownSinceMs = undefined;
    else this.apiDownSinceMs ??= this.nowMs;
    for (const router of this.routers) router.step(this);
    const actors = [...this.machines, this.operator];
    const from = order % actors.length;
    for (const actor of [...actors.slice(from), ...actors.slice(0, from)]) actor.step();
    for (const router of this.routers) router.step(this);
  }
}
