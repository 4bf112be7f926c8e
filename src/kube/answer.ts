import { ApiError, outcomeOfStatus } from './api-error.ts';
import type { BrokenExchange, Exchange, ServerAnswer } from './exchange.ts';
import { type Decode, decodeStatus, hasMagic, openEnvelope } from './protobuf/envelope.ts';

/**
 * From HTTP to words: what an answer, or the lack of one, means for a call.
 */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

export interface Call {
  verb: Verb;
  /** The resource's plural, for metrics. */
  label: string;
  exchange: Exchange;
  /** For an answer in protobuf. */
  decode?: Decode<unknown> | undefined;
  retries: number;
  signal: AbortSignal | undefined;
}

/** The request as people read it: the query says little and hides the path. */
export function requestOf(call: Call): string {
  const verb = call.verb === 'watch' ? 'WATCH' : call.exchange.method;
  return `${verb} ${call.exchange.path.split('?', 1)[0]}`;
}

export function parseAnswer<T>(call: Call, answer: ServerAnswer): T {
  if (call.exchange.onData !== undefined) return undefined as T;
  if (hasMagic(answer.body)) return decodeAnswer<T>(call, answer);
  const text = answer.body.toString('utf8');
  const type = String(answer.headers['content-type'] ?? '');
  if (call.label === 'raw' && !type.includes('json')) return text as T;
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError({
      request: requestOf(call),
      status: answer.status,
      detail: `the answer is not JSON but ${type || 'untyped'}: ${withoutCredential(text, answer).slice(0, 80)}`,
      outcome: call.exchange.method === 'GET' ? undefined : 'unknown',
    });
  }
}

function decodeAnswer<T>(call: Call, answer: ServerAnswer): T {
  try {
    const { kind, fields } = openEnvelope(answer.body);
    if (kind === 'Status' || call.decode === undefined) return decodeStatus(fields) as T;
    return call.decode(fields) as T;
  } catch (error) {
    throw new ApiError({
      request: requestOf(call),
      status: answer.status,
      detail: `the answer cannot be read: ${error instanceof Error ? error.message : error}`,
      outcome: call.exchange.method === 'GET' ? undefined : 'unknown',
    });
  }
}

export function errorOfAnswer(call: Call, answer: ServerAnswer): ApiError {
  const text = answer.body.toString('utf8');
  let status: { reason?: unknown; message?: unknown; details?: { retryAfterSeconds?: unknown } };
  try {
    status = hasMagic(answer.body)
      ? decodeStatus(openEnvelope(answer.body).fields)
      : (JSON.parse(text) ?? {});
  } catch {
    // A proxy's or the API server's plain text, such as "404 page not found".
    status = { message: withoutCredential(text, answer).slice(0, 200).trim() };
  }
  const header = Number(answer.headers['retry-after'] ?? Number.NaN);
  const inBody = status.details?.retryAfterSeconds;
  return new ApiError({
    request: requestOf(call),
    status: answer.status,
    reason: wordsOf(status.reason, answer),
    detail: wordsOf(status.message, answer),
    retryAfterSeconds:
      header >= 0 ? header : typeof inBody === 'number' && inBody > 0 ? inBody : undefined,
    outcome: call.exchange.method === 'GET' ? undefined : outcomeOfStatus(answer.status),
  });
}

function wordsOf(value: unknown, answer: ServerAnswer): string | undefined {
  return typeof value === 'string' ? withoutCredential(value, answer) : undefined;
}

/** A proxy that says what it was sent would have us print our own token. */
function withoutCredential(text: string, { credential }: ServerAnswer): string {
  const secret = credential.authorization?.replace(/^\S+ /, '');
  return secret ? text.replaceAll(secret, '(credential)') : text;
}

export function errorOfBroken(call: Call, broken: BrokenExchange): ApiError {
  const isWrite = call.exchange.method !== 'GET';
  return new ApiError({
    request: requestOf(call),
    status: 0,
    detail: broken.message,
    timedOut: broken.kind === 'timeout',
    outcome: !isWrite ? undefined : broken.sent ? 'unknown' : 'refused',
  });
}
