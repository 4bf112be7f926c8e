/**
 * The CNI plugin's work, all of it in the agent; the plugin on the host only
 * carries the call here and the answer back.
 *
 *   ADD   allocate (expires unless claimed) ─┬▶ disk ─┬▶ claim ─▶ result
 *                                            └▶ wire ─┘     └─▶ disk, a moment later
 *   DEL   unwire ─▶ free
 *
 * Every arrow is a place to die. Before the claim the allocation expires by
 * itself, and the sweep removes the interface before it frees the address. A
 * claim that did not come to the disk is seen by the interface: where there is
 * one, somebody may have heard that the pod is ready, and the sweep claims it. If
 * not even the allocation came to the disk, an interface may be there that the
 * book knows nothing of: `strays` sees to it that nobody else gets its address.
 * An address is freed only after its interface is gone, never before: else the
 * next pod could have it while the old one still answers.
 *
 * A failed ADD leaves nothing. A DEL of what is not there is fine. A second ADD
 * for the same container is refused, unless the first one came to nothing. That goes
 * for an IPAM plugin, too, which touches no interface: the plugin that asks would fail
 * at the interface that is there, and then DEL the address of a pod that lives.
 */
import { CadastreError, describeError } from '../../base/errors.ts';
import { type Log, silentLog } from '../../base/log.ts';
import { Metrics } from '../../base/metrics.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { hostLinkName } from '../../kernel/link.ts';
import type { WiredPod } from '../../kernel/pod.ts';
import type { AddressBook } from '../address-book.ts';
import type { AllocateAnswer } from '../address-request.ts';
import type { Allocation } from '../allocation.ts';
import {
  type CniConfig,
  type CniInput,
  checkEnvironment,
  machineMonotonicMs,
  newestVersion,
  readCniVersion,
  readCommand,
  readConfig,
  readPodName,
  supportedVersions,
} from './cni-call.ts';
import { asCniError, type CniCode, CniError, wiringFailed } from './cni-error.ts';
import { CniMetrics } from './cni-metrics.ts';
import { addResult, ipamResult } from './cni-result.ts';
import { OwnerTurns } from './owner-turns.ts';
import { PodRemoval } from './pod-removal.ts';
import { PodRepairer, type RepairDriver } from './pod-repairer.ts';
import type { ReadyMark } from './ready-mark.ts';
import { StatusRefusals } from './status-refusals.ts';
import { podAlias, type StrayDriver, Strays } from './strays.ts';
import { type SweepDriver, Sweeper } from './sweeper.ts';

/** What CNI needs of the kernel. */
export type PodDriver = Pick<Kernel, 'isOwnNamespace'> & SweepDriver & RepairDriver & StrayDriver;

export interface CniAnswer {
  isError: boolean;
  /** For standard output; undefined where success has nothing to say. */
  body: object | undefined;
  code?: CniCode;
}

interface CniServerOptions {
  book: AddressBook;
  driver: PodDriver;
  /** False: it serves as IPAM plugin alone, for another plugin that makes the interfaces. */
  wires?: boolean;
  /** The MTU of pods whose configuration names none. */
  mtu?: () => number | undefined;
  /** Why pods that run now may have limited connectivity, if so; for a STATUS that fails. */
  limitation?: () => string | undefined;
  /** What the node still waits for, if it does. */
  notReady?: () => string | undefined;
  /** When it could last serve pods: it was restarted, or waits for a moment. */
  readyMark?: Pick<ReadyMark, 'touch' | 'isFresh'>;
  /** Done before an ADD: a DEL of the same container that is still remembered. */
  beforeAdd?: (containerId: string, ifname: string) => Promise<void>;
  /** The clock of `CniInput.giveUpAtMs`. */
  monotonicMs?: () => number;
  log?: Log;
  metrics?: Metrics;
}

/** Longer than any wiring takes, shorter than anyone waits for an address. */
const claimWithinMs = 60_000;

interface Pod {
  owner: string;
  podName?: string;
  containerId: string;
  ifname: string;
  netns: string;
  hostIfName: string;
}

export class CniServer {
  readonly #options: CniServerOptions;
  readonly #log: Log;
  readonly #metrics: CniMetrics;
  readonly #turns = new OwnerTurns();
  readonly #strays: Strays;
  readonly #repairer: PodRepairer;
  readonly #removal: PodRemoval;
  readonly #sweeper: Sweeper;
  readonly #statusRefusals: StatusRefusals;

  constructor(options: CniServerOptions) {
    this.#options = options;
    const log = options.log ?? silentLog;
    this.#log = log;
    this.#metrics = new CniMetrics(options.metrics ?? new Metrics());
    this.#statusRefusals = new StatusRefusals(log, options.monotonicMs ?? machineMonotonicMs);
    const parts = { ...options, log, turns: this.#turns };
    this.#strays = new Strays(parts);
    this.#removal = new PodRemoval(parts);
    this.#repairer = new PodRepairer({ ...parts, removal: this.#removal });
    const [removal, strays, repairer] = [this.#removal, this.#strays, this.#repairer];
    this.#sweeper = new Sweeper({ ...parts, removal, strays, repairer });
  }

  /** Pods repaired since the start. */
  get repairedPods(): number {
    return this.#repairer.repairedPods;
  }

  /** Never throws: everything is an answer. */
  async handle(input: CniInput): Promise<CniAnswer> {
    const began = performance.now();
    const answer = await this.#answer(input);
    this.#metrics.answered(input.command, answer.code, (performance.now() - began) / 1000);
    return answer;
  }

  async #answer(input: CniInput): Promise<CniAnswer> {
    const isStatus = input.command === 'STATUS';
    try {
      const body = await this.#serve(input);
      if (isStatus) this.#statusRefusals.succeeded();
      return { isError: false, body };
    } catch (error) {
      const failure = asCniError(error);
      const { containerId, ifname, command } = input;
      const { code, message } = failure;
      const about = {
        verb: command,
        container: containerId,
        interface: ifname,
        code,
        error: message,
      };
      if (isStatus) this.#statusRefusals.refused(code, message);
      else this.#log.warn(about, 'a CNI call was refused');
      return { isError: true, body: failure.toJson(readCniVersion(input.stdin)), code };
    }
  }

  async #serve(input: CniInput): Promise<object | undefined> {
    const command = readCommand(input);
    if (command === 'VERSION') return { cniVersion: newestVersion, supportedVersions };
    const config = readConfig(input, command);
    if (command === 'STATUS') return this.#status(config);
    if (command === 'GC') return void (await this.#sweeper.collect(config));
    checkEnvironment(command, input);
    const pod = podOf(config.network, input);
    switch (command) {
      case 'ADD':
        await this.#options.beforeAdd?.(pod.containerId, pod.ifname);
        return this.#turns.take(pod.owner, () => {
          refuseIfGivenUp(input, this.#options.monotonicMs ?? machineMonotonicMs);
          return this.#add(config, pod);
        });
      case 'DEL':
        await this.#turns.take(pod.owner, () => this.#removal.removeForNow(pod, config.isIpam));
        return undefined;
      case 'CHECK':
        return this.#turns.take(pod.owner, () => this.#check(config, pod));
    }
  }

  async #add(config: CniConfig, pod: Pod): Promise<object> {
    const { book, driver, wires = true } = this.#options;
    if (!config.isIpam && !wires) {
      throw new CniError(
        'InvalidConfig',
        'this agent gives addresses alone (--wiring=false), and makes no interface',
        'name cadastre as ipam.type of the plugin that makes it, and remove the configuration of type cadastre',
      );
    }
    if (!config.isIpam && config.prevResult !== undefined) {
      throw new CniError(
        'InvalidConfig',
        'there is a prevResult: another plugin stands before this one in the list',
        "cadastre makes the pod's interface and must be the first of its list",
      );
    }
    if (!config.isIpam) await this.#checkNamespace(pod.netns);
    const before = book.find(pod.owner);
    const isOver = before !== undefined && this.#removal.isUnfreed(before.generation);
    if (before !== undefined && before.expiresAtMs === undefined && !isOver) {
      throw new CniError(
        'AlreadyAdded',
        `container ${pod.containerId} already has ${before.addresses.join(' and ')} on ${pod.ifname}`,
        'DEL it first',
      );
    }
    // The first ADD was cut off half way: as if it had never been.
    if (before !== undefined) await this.#removal.remove(pod, config.isIpam);
    const { allocation, written } = this.#allocate(config, pod);
    const { addresses } = allocation;
    if (config.isIpam) {
      return this.#orRelease(pod, async () => {
        await written;
        if (!(await book.claim(pod.owner))) throw tooLate(pod);
        if (await driver.hasNamespace(pod.netns)) this.#sweeper.saw(pod.owner);
        return ipamResult(config, addresses, book);
      });
    }
    return this.#orRelease(pod, async () => {
      // Neither waits for the other. Whichever fails, the other one has ended before it is undone.
      const [wiring, writing] = await Promise.allSettled([
        this.#wire(config, pod, allocation),
        written,
      ]);
      if (wiring.status === 'rejected') throw wiring.reason;
      try {
        if (writing.status === 'rejected') throw writing.reason;
        if (!book.claimSoon(pod.owner)) throw tooLate(pod);
      } catch (error) {
        await driver.unwirePod(pod);
        throw error;
      }
      return addResult(config, { ...pod, addresses }, wiring.value);
    });
  }

  async #checkNamespace(netns: string): Promise<void> {
    const { driver } = this.#options;
    // In a container of its own, a process number is nobody's, or one of the agent itself.
    const byProcess = /^\/proc\/\d+\//.test(netns)
      ? 'the runtime names it by a process: the agent sees it only with hostPID: true and the capability SYS_PTRACE (deploy/agent.yaml)'
      : undefined;
    if (!(await driver.hasNamespace(netns))) {
      throw new CniError(
        'ContainerUnknown',
        `there is no network namespace at ${netns}`,
        byProcess,
      );
    }
    // The pod's default route would become the node's.
    if (await driver.isOwnNamespace(netns)) {
      throw new CniError(
        'InvalidEnvironment',
        `CNI_NETNS is ${JSON.stringify(netns)}, the network namespace of the node itself`,
        byProcess ?? 'a pod on the network of its host needs no CNI plugin',
      );
    }
  }

  #allocate(config: CniConfig, pod: Pod): { allocation: Allocation; written: Promise<void> } {
    const { book } = this.#options;
    const served = book.families;
    const why = this.#options.notReady?.();
    if (served.length === 0) {
      throw new CniError('TryAgainLater', 'this node has no block of pod addresses yet', why);
    }
    const { owner, containerId, ifname, netns } = pod;
    const name = pod.podName === undefined ? {} : { pod: pod.podName };
    const addressesOnly = config.isIpam ? ({ addressesOnly: true } as const) : {};
    const { answer, written } = book.begin({
      owner,
      families: config.families ?? served,
      requested: config.requested,
      expiryMs: claimWithinMs,
      attachment: {
        network: config.network,
        containerId,
        ifname,
        netns,
        ...name,
        ...addressesOnly,
      },
    });
    if (answer.kind === 'allocated') return { allocation: answer.allocation, written };
    // Its blocks give out nothing until that is over; another block would not help.
    if (answer.reason === 'NoFreeAddress' && why !== undefined) {
      throw new CniError('TryAgainLater', answer.detail, why);
    }
    throw refusal(answer);
  }

  async #wire(config: CniConfig, pod: Pod, allocation: Allocation): Promise<WiredPod> {
    const { driver } = this.#options;
    const { addresses, generation } = allocation;
    const { network } = config;
    const mtu = config.mtu ?? this.#options.mtu?.();
    const wiring = {
      hostIfName: pod.hostIfName,
      netnsPath: pod.netns,
      ifName: pod.ifname,
      addresses,
      alias: podAlias({ ...pod, network, generation, addresses }),
      ...(mtu === undefined ? {} : { mtu }),
    };
    try {
      await this.#strays.settled(pod.hostIfName);
      return await driver.wirePod(wiring);
    } catch (error) {
      const isThere = error instanceof CadastreError && error.code === 'LINK_EXISTS';
      // The host's end bears this container's name: what is left of an agent that lost its
      // state. Another program's interface in the pod is not ours to remove.
      if (!isThere || !(await driver.unwirePod(pod))) throw wiringFailed(error);
    }
    try {
      return await driver.wirePod(wiring);
    } catch (error) {
      throw wiringFailed(error);
    }
  }

  /** If this fails too, the allocation is not claimed, and expires. */
  async #orRelease<T>(pod: Pod, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#options.book.release(pod.owner).catch((refused) => {
        const fields = { owner: pod.owner, error: describeError(refused) };
        this.#log.warn(fields, 'an address is freed when it expires, not now');
      });
      throw error;
    }
  }

  async #check(config: CniConfig, pod: Pod): Promise<undefined> {
    const { book, driver } = this.#options;
    if (config.prevResult === undefined) {
      throw new CniError('InvalidConfig', 'prevResult is missing', 'CHECK needs it');
    }
    const allocation = book.find(pod.owner);
    if (allocation === undefined) {
      const what = `container ${pod.containerId} has no address on ${pod.ifname}`;
      throw new CniError('CheckFailed', what, 'delete the pod; it is made anew');
    }
    const given = (config.prevResult.ips ?? []).map(({ address }) => address?.split('/')[0]);
    const problems = allocation.addresses
      .filter((address) => !given.includes(address.toString()))
      .map((address) => `${address} is not in prevResult`);
    if (!config.isIpam) {
      const found = await driver.checkPod({
        hostIfName: pod.hostIfName,
        netnsPath: pod.netns,
        ifName: pod.ifname,
        addresses: allocation.addresses,
      });
      if (found.kind === 'broken') problems.push(...found.problems);
    }
    if (problems.length === 0) return undefined;
    throw new CniError('CheckFailed', problems.join('; '), 'delete the pod; it is made anew');
  }

  /**
   * What a runtime makes of an error, 50 or 51 alike: the network is not ready, so the node is
   * NotReady, its pods leave their Services, and minutes later they are evicted. A node
   * that only has no address left for one more pod is well: it says so by a condition.
   */
  #status(config: CniConfig): undefined {
    const { book, limitation, readyMark } = this.#options;
    const waiting = this.whyNoPods;
    if (waiting === undefined) {
      readyMark?.touch();
      const missing = config.families?.find((family) => !book.families.includes(family));
      if (missing === undefined) return undefined;
      throw new CniError('NotAvailable', `this node has no ${missing} block`);
    }
    if (readyMark?.isFresh) return undefined;
    const limited = limitation?.();
    if (limited === undefined) throw new CniError('NotAvailable', waiting, 'see cadastre status');
    throw new CniError('LimitedConnectivity', waiting, limited);
  }

  /** Why no pod at all can get an address, full blocks left aside. */
  get whyNoPods(): string | undefined {
    const { book, notReady } = this.#options;
    const noBlock = 'this node has no block of pod addresses yet';
    return notReady?.() ?? (book.families.length === 0 ? noBlock : undefined);
  }

  /** Called now and then: frees what nobody will ask us to. */
  sweep(): Promise<number> {
    return this.#sweeper.sweep();
  }
}

function podOf(network: string, { containerId, ifname, netns, args }: CniInput): Pod {
  const owner = `cni:${network}/${containerId}/${ifname}`;
  const hostIfName = hostLinkName(containerId, ifname);
  const podName = readPodName(args);
  const pod = { owner, containerId, ifname, netns, hostIfName };
  return podName === undefined ? pod : { ...pod, podName };
}

function tooLate({ containerId }: Pod): CniError {
  return new CniError('TryAgainLater', `wiring ${containerId} took longer than a minute`);
}

function refusal(answer: Extract<AllocateAnswer, { kind: 'refused' }>): CniError {
  const { reason, detail, retryAfterMs } = answer;
  switch (reason) {
    case 'NoFreeAddress':
      if (retryAfterMs !== undefined) return new CniError('TryAgainLater', detail);
      return new CniError('NoFreeAddress', detail, 'give the node another block, or drain it');
    case 'FamilyNotServed':
      return new CniError('FamilyNotServed', detail, 'give it one, or ask for the other family');
    case 'AddressResting':
      return new CniError('TryAgainLater', detail);
    default:
      return new CniError('RequestedRefused', detail, 'ask for another address, or for any');
  }
}

/**
 * After a stop (SIGSTOP, a debugger, a stuck disk) the agent finds ADDs in its socket
 * whose plugins have given up. The runtime has sent a DEL, or taken another container:
 * an address for such a one would be held for nobody.
 */
function refuseIfGivenUp({ giveUpAtMs }: CniInput, monotonicMs: () => number): void {
  const lateMs = giveUpAtMs === undefined ? 0 : monotonicMs() - giveUpAtMs;
  if (lateMs <= 0) return;
  throw new CniError(
    'TryAgainLater',
    `the plugin stopped waiting for this ADD ${Math.ceil(lateMs / 1000)} s ago; nothing was made`,
    'the runtime asks again',
  );
}
