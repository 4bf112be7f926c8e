import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { timerMs } from '../base/timer-ms.ts';
import type { Credential } from './access.ts';
import { connectionFault } from './connection-fault.ts';
import { onAbort } from './on-abort.ts';

/**
 * One HTTP exchange, from hand-over to its last byte: the deadlines, the ways
 * to break off, and what is certain when it broke.
 */
export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: string | Buffer | undefined;
  contentType?: string | undefined;
  /** What the answer may be written in; JSON by default. */
  accept?: string | undefined;
  /** From hand-over to the last byte of the answer; 0 for none. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Lasts for minutes (a watch), so it gets a connection of its own. */
  isLong?: boolean | undefined;
  /** Called before the first piece of a 200's body. */
  onStart?: ((contentType: string) => void) | undefined;
  /** Takes the pieces of a 200's body as they come; else they are collected. */
  onData?: ((piece: Buffer) => void) | undefined;
  /** Abort when nothing came for this long (a watch). */
  silenceMs?: number | undefined;
}

export interface ServerAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Who asked, to tell the source if the answer is a 401. */
  credential: Credential;
}

/** No complete answer came. */
export class BrokenExchange extends Error {
  /** False: not a byte of the request left this process. */
  readonly sent: boolean;
  /** An answer had begun when it broke. */
  readonly answered: boolean;
  readonly kind: 'connection' | 'timeout' | 'aborted';

  constructor(message: string, how: Pick<BrokenExchange, 'sent' | 'answered' | 'kind'>) {
    super(message);
    this.name = 'BrokenExchange';
    this.sent = how.sent;
    this.answered = how.answered;
    this.kind = how.kind;
  }
}

export class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #request: Exchange;
  readonly #credential: Credential;
  readonly #resolve: (answer: ServerAnswer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #forgetSignal: (() => void) | undefined;
  readonly #deadline: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #settled = false;

  constructor(
    request: Exchange,
    credential: Credential,
    resolve: (answer: ServerAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#request = request;
    this.#credential = credential;
    this.#resolve = resolve;
    this.#reject = reject;
    if (request.timeoutMs > 0) {
      this.#deadline = setTimeout(
        () => this.#break('timeout', `no complete answer within ${request.timeoutMs} ms`),
        timerMs(request.timeoutMs),
      );
    }
    if (request.silenceMs !== undefined) {
      this.#silence = setTimeout(
        () => this.#break('timeout', `nothing was heard for ${request.silenceMs} ms`),
        timerMs(request.silenceMs),
      );
    }
    if (request.signal !== undefined) {
      this.#forgetSignal = onAbort(request.signal, () =>
        this.#break('aborted', 'the request was called off'),
      );
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while it waited for a connection: it must not be sent any more.
    if (this.#settled) {
      controller.abort(new Error('given up before it was sent'));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#status = status;
    this.#headers = headers;
    this.#silence?.refresh();
    if (status === 200) this.#request.onStart?.(String(headers['content-type'] ?? ''));
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#settled) return;
    this.#silence?.refresh();
    if (this.#request.onData === undefined || this.#status !== 200) {
      this.#pieces.push(piece);
      return;
    }
    try {
      this.#request.onData(piece);
    } catch (error) {
      this.#finish();
      this.#reject(error);
      this.#controller?.abort(new Error('the reader stopped'));
    }
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#finish();
    const pieces = this.#pieces;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces),
      credential: this.#credential,
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#break('connection', connectionFault(error));
  }

  #break(kind: BrokenExchange['kind'], why: string): void {
    if (this.#settled) return;
    this.#finish();
    const sent = this.#controller !== undefined;
    this.#reject(new BrokenExchange(why, { sent, answered: this.#status !== 0, kind }));
    if (kind !== 'connection') this.#controller?.abort(new Error(why));
  }

  #finish(): void {
    this.#settled = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#silence);
    this.#forgetSignal?.();
  }
}
