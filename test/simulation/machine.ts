/**
 * A machine with its agent: what is on disk survives a restart of the agent, nothing else
 * does. Each step the agent hears what it can reach, asks the real judgement
 * (plan/node/block-use), writes that to disk, then acts on it, then reports it. It may be
 * killed between any two of these.
 */
import { AcceptedReport } from '../../src/agent/accepted-report.ts';
import { apiVersion } from '../../src/model/keys.ts';
import { type ClusterNode, readNode } from '../../src/model/node.ts';
import type { Block } from '../../src/model/node-block.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import { type BlockUse, blockUse, type HeldBlock } from '../../src/plan/node/block-use.ts';
import { ownedBlocks } from '../../src/plan/node/node-truth.ts';
import type { Hijack, RouterContact } from '../../src/plan/node/router-contact.ts';
import { blockOf } from '../register/objects.ts';
import type { SimRouter } from './router.ts';
import { limits, type Site } from './site.ts';

/** What the API server said last. */
interface View {
  node: ClusterNode | undefined;
  blocks: Block[];
}

interface Disk {
  held: HeldBlock[];
  /** The Node as it was when it was last there. */
  node: ClusterNode | undefined;
  owned: Block[];
  hasReported: boolean;
  /** Of the boot that wrote it. */
  contact: { boot: number; upMs: number | undefined; confirmedMs: number | undefined } | undefined;
}

export type KillPoint = 'save' | 'announce' | 'report';

export class SimMachine {
  readonly nodeName: string;
  readonly address: string;
  isOn = true;
  isApiCut = false;
  readonly routerCuts = new Set<SimRouter>();
  /** Where the agent's next step ends, as by kill -9. */
  killAt: KillPoint | undefined;
  /** Something was done to this machine, its Node or its links since the API server went down. */
  isDisturbed = false;
  agent: SimAgent | undefined;
  boot = 1;
  readonly site: Site;
  readonly disk: Disk = {
    held: [],
    node: undefined,
    owned: [],
    hasReported: false,
    contact: undefined,
  };

  constructor(site: Site, nodeName: string, address: string) {
    this.site = site;
    this.nodeName = nodeName;
    this.address = address;
  }

  reaches(router: SimRouter): boolean {
    return this.isOn && !this.routerCuts.has(router);
  }

  get reachesApi(): boolean {
    return this.isOn && !this.isApiCut && this.site.isApiUp;
  }

  /** What it has really sent to a router that it reaches. */
  get announced(): ReadonlySet<string> {
    return this.agent?.announced ?? new Set();
  }

  powerOff(): void {
    this.isOn = false;
    this.agent = undefined;
  }

  powerOn(): void {
    if (this.isOn) return;
    this.isOn = true;
    this.boot += 1;
  }

  killAgent(): void {
    this.agent = undefined;
    for (const router of this.site.routers) if (this.reaches(router)) router.close(this);
  }

  step(): void {
    if (!this.isOn) return;
    if (this.agent === undefined) {
      this.agent = new SimAgent(this);
      return;
    }
    if (!this.agent.step(this.killAt)) this.killAgent();
    this.killAt = undefined;
  }
}

export class SimAgent {
  announced: ReadonlySet<string> = new Set();
  uses: readonly BlockUse[] = [];
  readonly #machine: SimMachine;
  readonly #site: Site;
  readonly #accepted = new AcceptedReport();
  readonly #confirmedMs = new Map<string, number>();
  readonly #reachedMs = new Map<SimRouter, number>();
  readonly #hijackedSinceMs = new Map<string, number>();
  #view: View | undefined;
  #heardMs = Number.NEGATIVE_INFINITY;
  #held: readonly HeldBlock[];
  #upMs: number | undefined;
  #declaredMs: number | undefined;
  #lacksSinceMs: number | undefined;
  #askedSinceMs: number | undefined;
  #hasServed = false;
  #standsBy = false;
  #asked: readonly string[] = [];

  constructor(machine: SimMachine) {
    this.#machine = machine;
    this.#site = machine.site;
    const { disk } = machine;
    const { nowMs } = machine.site;
    this.#accepted.hasReported = disk.hasReported;
    const contact = disk.contact?.boot === machine.boot ? disk.contact : undefined;
    this.#upMs = contact?.upMs;
    this.#held = disk.held.map(({ holdSinceMs: _, missingSinceMs: __, ...block }) => {
      const hold = block.hold ?? (contact === undefined ? 'withheld' : undefined);
      if (contact?.confirmedMs !== undefined) {
        this.#confirmedMs.set(block.prefix.toString(), contact.confirmedMs);
      }
      return hold === undefined ? block : { ...block, hold, holdSinceMs: nowMs };
    });
  }

  /** False: killed on the way. */
  step(killAt: KillPoint | undefined): boolean {
    this.#hear();
    this.#confirm();
    const { disk } = this.#machine;
    const node = this.#view?.node ?? disk.node;
    // Nothing is known, from nobody.
    if (node === undefined) return true;
    if (!this.#isPermitted(node)) {
      this.#standBy(node);
      return true;
    }
    this.#hasServed = true;
    this.uses = this.#judge(node);
    this.#held = this.uses.map(({ block }) => block);
    this.#asked = this.uses.flatMap(({ mustConfirm, block }) =>
      mustConfirm ? [block.prefix.toString()] : [],
    );
    if (killAt === 'save') return false;
    this.#save(node);
    if (killAt === 'announce') return false;
    this.#announce();
    if (killAt === 'report') return false;
    this.#report(node);
    return true;
  }

  #hear(): void {
    const { api, nowMs } = this.#site;
    const { nodeName, reachesApi } = this.#machine;
    if (!reachesApi) return;
    const node = api.get('Node', nodeName);
    const isFirst = this.#view === undefined;
    this.#view = {
      node: node && nodeOf(node),
      blocks: Array.from(api.list('NodeBlock'), blockRead),
    };
    this.#heardMs = nowMs;
    // The first list is an answer of the API server itself.
    if (isFirst) for (const cidr of this.#inOrder()) this.#confirmedMs.set(cidr, nowMs);
  }

  #confirm(): void {
    if (!this.#machine.reachesApi) return;
    const inOrder = this.#inOrder();
    for (const cidr of this.#asked) {
      if (inOrder.includes(cidr)) this.#confirmedMs.set(cidr, this.#site.nowMs);
    }
  }

  /** Blocks that the register gives this very Node, and nobody has testified against. */
  #inOrder(): string[] {
    const { node, blocks = [] } = this.#view ?? {};
    if (node === undefined || !this.#isThisMachine(node)) return [];
    return ownedBlocks('register', node, blocks)
      .filter(({ uid }) => blocks.find((block) => block.uid === uid)?.released === undefined)
      .map(({ prefix }) => prefix.toString());
  }

  /** One agent, one node: what the identity check of the agent says. */
  #isThisMachine({ addresses }: ClusterNode): boolean {
    return addresses.includes(this.#machine.address);
  }

  /** One agent, one node: as agent/node-identity. What is not heard is not asked. */
  #isPermitted(node: ClusterNode): boolean {
    const { api, nowMs } = this.#site;
    const machine = this.#machine;
    if (!machine.reachesApi || this.#view?.node === undefined) return !this.#standsBy;
    this.#standsBy = this.#isRefused(node, nowMs, holderOf(api, machine.nodeName));
    return !this.#standsBy;
  }

  #isRefused(node: ClusterNode, nowMs: number, holder: string | undefined): boolean {
    if (!this.#isThisMachine(node)) {
      this.#lacksSinceMs ??= nowMs;
      return !this.#hasServed || nowMs - this.#lacksSinceMs >= limits.addressGraceMs;
    }
    this.#lacksSinceMs = undefined;
    if (holder === undefined || holder === this.#machine.address) {
      this.#askedSinceMs = undefined;
      return false;
    }
    // The other one has not the Node's address, so it does not answer.
    this.#askedSinceMs ??= nowMs;
    return nowMs - this.#askedSinceMs < limits.answerWithinMs;
  }

  #standBy(node: ClusterNode): void {
    const { nowMs, routers } = this.#site;
    this.announced = new Set();
    this.#held = this.#held.map((block) =>
      block.hold === undefined ? { ...block, hold: 'withheld', holdSinceMs: nowMs } : block,
    );
    this.#save(node);
    for (const router of routers) {
      if (this.#machine.reaches(router)) router.hear(this.#machine, this.announced, nowMs);
    }
  }

  #judge(node: ClusterNode): BlockUse[] {
    const { nowMs } = this.#site;
    const { disk } = this.#machine;
    const view = this.#view;
    const isMine = this.#isThisMachine(node);
    const register = view && {
      own: view.blocks.filter(({ nodeName }) => nodeName === node.name),
      ofOthers: (prefix: Block['prefix']) =>
        view.blocks.find((one) => one.nodeName !== node.name && one.prefix.overlaps(prefix)),
      isServed: true,
    };
    const blocks = view?.blocks ?? disk.owned;
    const uses = blockUse({
      nowMs,
      source: 'register',
      isHeard: nowMs - this.#heardMs <= limits.isHeardMs,
      isNodeThere: view === undefined || (view.node !== undefined && isMine),
      owned: isMine ? ownedBlocks('register', node, blocks) : [],
      register,
      before: this.#held,
      releases: [],
      podsIn: () => 1,
      confirmedMs: this.#confirmedMs,
      contact: this.#contact(),
      hasPeers: true,
      delivery: {
        declaredMs: this.#declaredMs,
        isAcknowledged: this.#site.routers.every(
          (router) => !this.#believesUp(router) || this.#machine.reaches(router),
        ),
        isEveryPeerUp: this.#site.routers.every((router) => this.#machine.reaches(router)),
      },
      hasWithdrawnBlocks: false,
      reported: this.#accepted,
      limits: {
        reconfirmAfterMs: limits.reconfirmAfterMs,
        routersForgetMs: limits.holdMs * 2,
        missingGraceMs: limits.missingGraceMs,
      },
    });
    return uses;
  }

  /** A dead session is believed in for the hold time. */
  #believesUp(router: SimRouter): boolean {
    const reached = this.#reachedMs.get(router);
    return reached !== undefined && this.#site.nowMs - reached <= limits.holdMs;
  }

  #contact(): RouterContact {
    const { nowMs, routers, choices } = this.#site;
    const machine = this.#machine;
    const before = this.#upMs ?? Number.NEGATIVE_INFINITY;
    const reached = routers.filter((router) => machine.reaches(router));
    const isUp = routers.some((router) => this.#believesUp(router)) || reached.length > 0;
    const wasLost = isUp && nowMs - before > limits.reconfirmAfterMs;
    for (const router of reached) this.#reachedMs.set(router, nowMs);
    if (isUp) this.#upMs = nowMs;
    const seen = reached
      .filter((router) => choices.routersAdvertise && router.hasSession(machine))
      .flatMap((router) => bestPaths(router).filter(({ machine: other }) => other !== machine));
    return {
      lastUpMs: wasLost ? before : isUp ? Number.POSITIVE_INFINITY : before,
      hijacks: this.#hijacks(seen),
    };
  }

  #hijacks(
    seen: ReadonlyArray<{ cidr: string; machine: SimMachine; router: SimRouter }>,
  ): Hijack[] {
    const found = seen.flatMap(({ cidr: prefix, machine, router }) =>
      this.#held
        .filter(({ prefix: own }) => own.overlaps(parsePrefix(prefix)!))
        .map(({ prefix: own }) => ({
          cidr: own.toString(),
          prefix,
          peer: router.name,
          nextHop: machine.address,
        })),
    );
    const keys = new Set(found.map(({ cidr }) => cidr));
    for (const cidr of this.#hijackedSinceMs.keys()) {
      if (!keys.has(cidr)) this.#hijackedSinceMs.delete(cidr);
    }
    return found.map((one) => {
      const sinceMs = this.#hijackedSinceMs.get(one.cidr) ?? this.#site.nowMs;
      this.#hijackedSinceMs.set(one.cidr, sinceMs);
      return { ...one, sinceMs };
    });
  }

  #save(node: ClusterNode): void {
    const { disk, boot } = this.#machine;
    disk.held = [...this.#held];
    disk.node = node;
    disk.hasReported = this.#accepted.hasReported;
    if (this.#view !== undefined) disk.owned = this.#view.blocks;
    const confirmed = this.#held.map(({ prefix }) => this.#confirmedMs.get(prefix.toString()));
    const times = confirmed.filter((ms) => ms !== undefined);
    const isKnown = times.length === confirmed.length && times.length > 0;
    const confirmedMs = isKnown ? Math.min(...times) : undefined;
    disk.contact = { boot, upMs: this.#upMs, confirmedMs };
  }

  #announce(): void {
    const { nowMs, routers } = this.#site;
    this.announced = new Set(
      this.uses.flatMap(({ isAnnounced, block }) => (isAnnounced ? [block.prefix.toString()] : [])),
    );
    this.#declaredMs = nowMs;
    for (const router of routers) {
      if (this.#machine.reaches(router)) router.hear(this.#machine, this.announced, nowMs);
    }
  }

  #report(node: ClusterNode): void {
    const { api, nowMs, routers } = this.#site;
    if (!this.#machine.reachesApi || !this.#isThisMachine(node)) return;
    const entry = ({ block: { prefix, uid } }: BlockUse) => ({ cidr: prefix.toString(), uid });
    const fenced = this.uses.filter(({ isFenced }) => isFenced).map(entry);
    const silentAfter = this.uses.flatMap((use) =>
      use.silentAfterSeconds === undefined
        ? []
        : [{ ...entry(use), seconds: use.silentAfterSeconds }],
    );
    const spec = {
      nodeUID: node.uid,
      agent: { id: this.#machine.address, machine: this.#machine.address },
      releases: [],
      uses: this.uses.filter(({ isUsed }) => isUsed).map(entry),
      fenced,
      silentAfter,
      reconfirmAfterSeconds: limits.reconfirmAfterMs / 1_000,
    };
    const status = {
      sessions: routers.map(({ name, address }) => ({ peer: name, address, state: '' })),
    };
    this.#accepted.sending({ fenced, silentAfter });
    const report = { apiVersion, kind: 'NodeReport', metadata: { name: node.name }, spec, status };
    const answer = api.create(report as KubeObject);
    if (answer.kind === 'exists' && JSON.stringify(answer.object.spec) !== JSON.stringify(spec)) {
      api.change('NodeReport', node.name, {}, (object) => ({ ...object, spec, status }));
    }
    this.#accepted.accepted({ fenced, silentAfter }, nowMs);
  }
}

function holderOf(api: Site['api'], nodeName: string): string | undefined {
  const { agent } = (api.get('NodeReport', nodeName)?.spec ?? {}) as {
    agent?: { machine: string };
  };
  return agent?.machine;
}

/** Objects are never altered in place: each version is read once. */
function once<T extends object>(read: (object: KubeObject) => T): (object: KubeObject) => T {
  const known = new WeakMap<KubeObject, T>();
  return (object) => {
    const found = known.get(object) ?? read(object);
    known.set(object, found);
    return found;
  };
}

const nodeOf = once(readNode);
const blockRead = once(blockOf);

/** A router advertises the one path that it has chosen, and not to whom it came from. */
function bestPaths(
  router: SimRouter,
): Array<{ cidr: string; machine: SimMachine; router: SimRouter }> {
  const best = new Map<string, SimMachine>();
  for (const { cidr, machine } of router.routes()) if (!best.has(cidr)) best.set(cidr, machine);
  return Array.from(best, ([cidr, machine]) => ({ cidr, machine, router }));
}
