/**
 * The part of the agent that gives addresses, put together: the lock, the
 * book, the socket, CNI, the spool and the sweep.
 */
import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import { lockFolder } from '../base/folder-lock.ts';
import { HttpServer } from '../base/http-server.ts';
import { type DurableFiles, realFiles } from '../base/journal/durable-files.ts';
import { type Log, type LogLevelSwitch, silentLog } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { PodBlock } from '../plan/pod-address/pod-address-block.ts';
import { addAddressRoutes, generalRefusal } from './address-api.ts';
import { AddressBook } from './address-book.ts';
import { cniRoute } from './cni/cni-route.ts';
import { CniServer, type PodDriver } from './cni/cni-server.ts';
import { DelSpool } from './cni/del-spool.ts';
import { markEveryMs, ReadyMark } from './cni/ready-mark.ts';
import { claimSocket, type PrivateSocket } from './private-socket.ts';

interface AddressServiceOptions {
  /** Where the journal, the lock and the spool are: /var/lib/cadastre. */
  stateFolder: string;
  /** /run/cadastre/agent.sock */
  socketPath: string;
  driver: PodDriver;
  /** False: pods' interfaces are another plugin's, and only addresses are given. */
  wires?: boolean;
  /** Absent where an agent will set them. */
  blocks?: readonly PodBlock[];
  clock: Clock;
  version: string;
  /** Of new pods. */
  mtu?: () => number | undefined;
  limitation?: () => string | undefined;
  /** What the node still waits for, if it does. */
  notReady?: () => string | undefined;
  /** What GET /v1/status says besides the addresses. */
  agentStatus?: () => object;
  restMs?: number | undefined;
  sweepEveryMs?: number | undefined;
  files?: DurableFiles;
  log?: Log;
  logLevel?: LogLevelSwitch | undefined;
  metrics?: Metrics;
}

/** Longer than connection tracking keeps a closed TCP connection's last state, within reason. */
const defaultRestMs = 30_000;
const defaultSweepEveryMs = 10_000;

export class AddressService {
  readonly book: AddressBook;
  readonly cni: CniServer;
  readonly #stop: () => Promise<void>;

  private constructor(book: AddressBook, cni: CniServer, stop: () => Promise<void>) {
    this.book = book;
    this.cni = cni;
    this.#stop = stop;
  }

  static async start(options: AddressServiceOptions): Promise<AddressService> {
    const { stateFolder, socketPath, driver, clock, version, log = silentLog } = options;
    const lock = await lockFolder(stateFolder);
    let socket: PrivateSocket | undefined;
    try {
      await mkdir(dirname(socketPath), { recursive: true });
      socket = await claimSocket(socketPath);
      const claimed = socket;
      const book = await AddressBook.open({
        files: options.files ?? realFiles,
        folder: stateFolder,
        clock,
        ...(bootClock.bootId === '-' ? {} : { boot: bootClock }),
        restMs: options.restMs ?? defaultRestMs,
        log,
      });
      if (options.blocks !== undefined) book.setBlocks(options.blocks);
      const spool = new DelSpool(join(stateFolder, 'cni-spool'), log);
      const readyMark = new ReadyMark(socketPath, clock);
      const cni: CniServer = new CniServer({
        book,
        driver,
        log,
        readyMark,
        ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
        ...(options.wires === undefined ? {} : { wires: options.wires }),
        beforeAdd: (containerId, ifname) => spool.replayFor(cni, containerId, ifname),
        ...(options.mtu === undefined ? {} : { mtu: options.mtu }),
        ...(options.limitation === undefined ? {} : { limitation: options.limitation }),
        ...(options.notReady === undefined ? {} : { notReady: options.notReady }),
      });
      const tidy = async () => {
        try {
          await spool.replay(cni);
          await cni.sweep();
        } catch (error) {
          log.warn({ error: describeError(error) }, 'the sweep failed; the next one tries again');
        }
      };
      // Before anyone can ask: a DEL that was remembered is older than any ADD to come.
      await tidy();
      const server = new HttpServer({ log, refusalBody: generalRefusal });
      const { agentStatus, logLevel = { level: 'info' } } = options;
      const routes = { book, clock, version, cni: cniRoute(cni), agentStatus, logLevel };
      addAddressRoutes(server, routes);
      await chmod(stateFolder, 0o700);
      await claimed.listen(server);
      const markReady = () => {
        if (cni.whyNoPods === undefined) readyMark.touch();
      };
      const marking = setInterval(markReady, markEveryMs);
      marking.unref();
      let sweeping = Promise.resolve();
      const timer = setInterval(() => {
        sweeping = sweeping.then(tidy);
      }, options.sweepEveryMs ?? defaultSweepEveryMs);
      timer.unref();
      return new AddressService(book, cni, async () => {
        clearInterval(timer);
        clearInterval(marking);
        markReady();
        await claimed.close();
        await sweeping;
        await book.close();
        lock.release();
      });
    } catch (error) {
      await socket?.close();
      lock.release();
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.#stop();
  }
}
