import { ApiError } from './api-error.ts';
import type { StoredObject } from './resource.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

export interface WatchEvent {
  type: WatchEventType;
  object: StoredObject;
}

const newline = 0x0a;

/**
 * Cuts a watch's byte stream into events. Pieces end anywhere, inside a
 * character too, so it cuts bytes and decodes whole lines. A line cut off by
 * the end of the stream is dropped: the next watch resumes before it. A whole
 * line that is not an event, and an ERROR event, end the watch with an error.
 */
export class WatchLines {
  readonly #request: string;
  readonly #onEvent: (event: WatchEvent) => void;
  #rest: Buffer[] = [];

  constructor(request: string, onEvent: (event: WatchEvent) => void) {
    this.#request = request;
    this.#onEvent = onEvent;
  }

  push(piece: Buffer): void {
    let start = 0;
    for (let end = piece.indexOf(newline); end !== -1; end = piece.indexOf(newline, start)) {
      const tail = piece.subarray(start, end);
      start = end + 1;
      if (this.#rest.length === 0) {
        this.#line(tail);
      } else {
        this.#rest.push(tail);
        const line = Buffer.concat(this.#rest);
        this.#rest = [];
        this.#line(line);
      }
    }
    if (start < piece.length) this.#rest.push(piece.subarray(start));
  }

  #line(line: Buffer): void {
    if (line.length === 0) return;
    const event = parseEvent(line);
    if (event === undefined) {
      throw new ApiError({
        request: this.#request,
        status: 0,
        detail: `the watch sent a line that is no event: ${line.toString('utf8', 0, 80)}`,
      });
    }
    if (event.type === 'ERROR') throw errorOfStatus(this.#request, event.object);
    this.#onEvent(event as WatchEvent);
  }
}

const eventTypes = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

function parseEvent(line: Buffer): { type: string; object: unknown } | undefined {
  let event: { type?: unknown; object?: { metadata?: { resourceVersion?: unknown } } | null };
  try {
    event = JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof event !== 'object' || event === null) return undefined;
  const { type, object } = event;
  if (typeof type !== 'string' || !eventTypes.has(type)) return undefined;
  if (typeof object !== 'object' || object === null) return undefined;
  if (type !== 'ERROR' && typeof object.metadata?.resourceVersion !== 'string') return undefined;
  return { type, object };
}

/** A metav1.Status that came as an answer's body or inside a watch. */
export function errorOfStatus(request: string, status: unknown): ApiError {
  const { code, reason, message } = (status ?? {}) as Record<string, unknown>;
  return new ApiError({
    request,
    status: typeof code === 'number' ? code : 500,
    reason: typeof reason === 'string' ? reason : undefined,
    detail: typeof message === 'string' ? message : undefined,
  });
}
