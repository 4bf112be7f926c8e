/**
 * One rtnetlink socket: requests in, answers out. A socket serves one caller
 * at a time (`SocketPool` lends them), so an answer never belongs to somebody
 * else, and a slow deletion does not hold up another caller's route.
 *
 * - Several requests travel in one buffer. The kernel works on all of them,
 *   also behind one that it refused, and `exchange` reports each refusal.
 * - A dump that the kernel interrupted (NLM_F_DUMP_INTR, or EINTR) describes no
 *   state that ever was: it is repeated.
 * - ENOBUFS means that answers were lost: the outcome is unknown, and the error
 *   says so. Who declares a state compares again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CadastreError } from '../../base/errors.ts';
import { errnoName, isErrno, KernelError } from '../kernel-error.ts';
import { NetlinkReader } from './attributes.ts';
import {
  decodeMessages,
  encodeRequests,
  type NetlinkMessage,
  type NetlinkRefusal,
  NLM_F_DUMP_INTR,
  NLMSG_DONE,
  NLMSG_ERROR,
  type Request,
  refusalOf,
} from './message.ts';
import { inNamespace } from './namespace.ts';
import { type NativeNetlink, nativeNetlink } from './native.ts';

const NETLINK_ROUTE = 0;
const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;
const SOL_SOCKET = 1;
const SO_RCVBUFFORCE = 33;

const receiveBufferBytes = 4 << 20;
/** The kernel sends dumps in pieces of at most 32 KB, and single answers are smaller. */
const readBytes = 64 << 10;
/** Far below the default send buffer of 208 KB. */
const batchBytes = 48 << 10;
const dumpAttempts = 10;
/**
 * Twice the threads there are to work on them; the kernel has one lock for all of it anyway, and
 * every call under way costs memory. A deletion holds one socket and asks for a second (at most
 * two deletions at a time, see LinkRemover), so it must be more than two.
 */
const maxLent = 8;
const maxIdle = 4;

/** For reads that do not wait: whatever is in it is used up before the next one. */
const sharedBuffer = new Uint8Array(readBytes);

export interface Failure extends NetlinkRefusal {
  request: Request;
}

export class NetlinkSocket {
  readonly #fd: number;
  readonly #native: NativeNetlink;
  #sequence = 1;
  #isClosed = false;

  constructor(namespaceFd: number | undefined, groups = 0, native = nativeNetlink()) {
    this.#native = native;
    this.#fd = inNamespace(namespaceFd, () => native.open(NETLINK_ROUTE));
    native.setOption(this.#fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
    native.setOption(this.#fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
    // Filters in a dump are obeyed only by a socket that asks for it.
    native.setOption(this.#fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
    // Without the right to force it the default stays; batches are small enough for that.
    native.setOption(this.#fd, SOL_SOCKET, SO_RCVBUFFORCE, receiveBufferBytes);
    if (groups !== 0) native.joinGroups(this.#fd, groups);
  }

  /** Does all of them and throws the first refusal. */
  async run(requests: readonly Request[]): Promise<void> {
    const [failure] = await this.exchange(requests);
    if (failure) throw refused(failure);
  }

  /** Does all of them and returns those that were refused. */
  async exchange(requests: readonly Request[]): Promise<Failure[]> {
    const failures: Failure[] = [];
    for (const batch of inBatches(requests)) {
      const first = await this.#send(batch);
      this.#readUntil(batch, first, (message) => {
        const index = message.sequence - first;
        const refusal = refusalOf(message);
        if (refusal) failures.push({ ...refusal, request: batch[index] as Request });
        return index === batch.length - 1;
      });
    }
    return failures;
  }

  /** The one object a request asks for; what is to be done before travels in the same buffer. */
  async get(request: Request, before: readonly Request[] = []): Promise<NetlinkMessage> {
    const batch = [...before, request];
    const first = await this.#send(batch);
    let found: NetlinkMessage | undefined;
    let failure: Failure | undefined;
    this.#readUntil(batch, first, (message) => {
      if (message.type !== NLMSG_ERROR) {
        // The buffer is shared by all sockets, and used again.
        found = { ...message, body: new NetlinkReader(message.body.bytes.slice()) };
        return false;
      }
      const index = message.sequence - first;
      const refusal = refusalOf(message);
      if (refusal) failure ??= { ...refusal, request: batch[index] as Request };
      return index === batch.length - 1;
    });
    if (failure) throw refused(failure);
    if (!found) throw new KernelError(request.what, 'no answer');
    return found;
  }

  async dump<T>(request: Request, read: (message: NetlinkMessage) => T | undefined): Promise<T[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const found = await this.#dumpOnce(request, read);
        if (found) return found;
      } catch (error) {
        if (!isErrno(error, 'EINTR', 'ENOBUFS') || attempt === dumpAttempts) throw error;
      }
      if (attempt === dumpAttempts) {
        throw new KernelError(`${request.what}, which changed under every reading`, 'EINTR');
      }
      // A hundred pods that start at once change it for a tenth of a second.
      if (attempt > 2) await sleep(5 << (attempt - 2));
    }
  }

  /** What has arrived since; for a socket that listens to groups. ENOBUFS throws. */
  drain(take: (message: NetlinkMessage) => void): void {
    for (;;) {
      const got = this.#native.receive(this.#fd, sharedBuffer);
      if (got <= 0) {
        const errno = errnoName(-got);
        if (got === 0 || errno === 'EAGAIN' || errno === 'EINTR') return;
        throw new KernelError('listen for changes', errno);
      }
      for (const message of decodeMessages(sharedBuffer.subarray(0, got))) take(message);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#native.close(this.#fd);
  }

  async #send(batch: readonly Request[]): Promise<number> {
    if (this.#isClosed) throw new CadastreError('KERNEL_UNAVAILABLE', 'the kernel was closed');
    const first = this.#sequence;
    this.#sequence = (this.#sequence + batch.length) >>> 0;
    const errno = await this.#native.send(this.#fd, encodeRequests(batch, first));
    if (errno !== 0) throw new KernelError(batch[0]?.what ?? 'send', errnoName(errno));
    return first;
  }

  /** Answers are queued by the time send() returns, so this never waits. */
  #readUntil(
    batch: readonly Request[],
    first: number,
    isLast: (message: NetlinkMessage) => boolean,
  ) {
    for (;;) {
      const got = this.#native.receive(this.#fd, sharedBuffer);
      if (got <= 0) {
        const errno = errnoName(-got);
        if (errno === 'EINTR') continue;
        if (errno === 'ENOBUFS') this.#discard();
        throw new KernelError(batch[0]?.what ?? 'receive', errno, {
          detail: 'the answer was lost, the outcome is unknown',
        });
      }
      for (const message of decodeMessages(sharedBuffer.subarray(0, got))) {
        // Left over from an exchange that ended in an error.
        if (message.sequence < first || message.sequence >= first + batch.length) continue;
        if (isLast(message)) return;
      }
    }
  }

  async #dumpOnce<T>(
    request: Request,
    read: (message: NetlinkMessage) => T | undefined,
  ): Promise<T[] | undefined> {
    const first = await this.#send([request]);
    const buffer = new Uint8Array(readBytes);
    const found: T[] = [];
    let wasInterrupted = false;
    for (;;) {
      // Each piece is made inside recv(), behind the kernel's lock for some objects.
      const got = await this.#native.receiveAsync(this.#fd, buffer);
      if (got <= 0) {
        const errno = errnoName(-got);
        if (errno === 'ENOBUFS') this.#discard();
        throw new KernelError(request.what, errno);
      }
      for (const message of decodeMessages(buffer.subarray(0, got))) {
        if (message.sequence !== first) continue;
        if ((message.flags & NLM_F_DUMP_INTR) !== 0) wasInterrupted = true;
        if (message.type === NLMSG_DONE || message.type === NLMSG_ERROR) {
          const refusal = refusalOf(message);
          if (refusal) throw refused({ ...refusal, request });
          return wasInterrupted ? undefined : found;
        }
        const item = read(message);
        if (item !== undefined) found.push(item);
      }
    }
  }

  #discard(): void {
    while (this.#native.receive(this.#fd, sharedBuffer) > 0);
  }
}

/** Lends sockets of one namespace, each to one caller at a time; the rest wait their turn. */
export class SocketPool {
  readonly #namespaceFd: number | undefined;
  readonly #idle: NetlinkSocket[] = [];
  readonly #waiting: (() => void)[] = [];
  #lent = 0;
  #isClosed = false;

  constructor(namespaceFd: number | undefined) {
    this.#namespaceFd = namespaceFd;
  }

  async use<T>(work: (socket: NetlinkSocket) => Promise<T>): Promise<T> {
    if (this.#lent >= maxLent) await new Promise<void>((go) => this.#waiting.push(go));
    if (this.#isClosed) throw new CadastreError('KERNEL_UNAVAILABLE', 'the kernel was closed');
    this.#lent++;
    const socket = this.#idle.pop() ?? new NetlinkSocket(this.#namespaceFd);
    try {
      return await work(socket);
    } finally {
      this.#lent--;
      if (this.#isClosed || this.#idle.length >= maxIdle) socket.close();
      else this.#idle.push(socket);
      this.#waiting.shift()?.();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const socket of this.#idle.splice(0)) socket.close();
    for (const go of this.#waiting.splice(0)) go();
  }
}

function refused({ errno, detail, request }: Failure): KernelError {
  return new KernelError(request.what, errnoName(errno), { detail });
}

function* inBatches(requests: readonly Request[]): Generator<Request[]> {
  let batch: Request[] = [];
  let size = 0;
  for (const each of requests) {
    const length = 16 + ((each.body.length + 3) & ~3);
    if (size + length > batchBytes && batch.length > 0) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(each);
    size += length;
  }
  if (batch.length > 0) yield batch;
}
