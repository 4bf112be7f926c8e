import { CadastreError } from '../base/errors.ts';
import { remedyOfFault } from './connection-fault.ts';

/**
 * What is known about a write that failed. `refused`: certainly not done.
 * `unknown`: it may have been done, so the caller looks before it acts again;
 * treating it as failed, or as done, is how others lost addresses.
 */
type WriteOutcome = 'refused' | 'unknown';

interface ApiErrorFields {
  /** `PUT /api/v1/nodes/a` */
  request: string;
  /** 0 when no HTTP answer came. */
  status: number;
  reason?: string | undefined;
  /** The server's own words. */
  detail?: string | undefined;
  retryAfterSeconds?: number | undefined;
  /** Only for writes. */
  outcome?: WriteOutcome | undefined;
  timedOut?: boolean | undefined;
}

/** Every failure of a request, answered or not. */
export class ApiError extends CadastreError {
  readonly status: number;
  readonly reason: string;
  readonly detail: string;
  readonly retryAfterSeconds: number | undefined;
  readonly outcome: WriteOutcome | undefined;

  constructor(fields: ApiErrorFields) {
    super(codeOf(fields), sentenceOf(fields), remedyOf(fields));
    this.name = 'ApiError';
    this.status = fields.status;
    this.reason = fields.reason ?? '';
    this.detail = fields.detail ?? '';
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.outcome = fields.outcome;
  }

  get isNotFound(): boolean {
    return this.status === 404;
  }

  /** The object changed since it was read; AlreadyExists is a different 409. */
  get isConflict(): boolean {
    return this.status === 409 && this.reason !== 'AlreadyExists';
  }

  get isAlreadyExists(): boolean {
    return this.status === 409 && this.reason === 'AlreadyExists';
  }

  /** The resourceVersion or continue token is older than the server's memory. */
  get isGone(): boolean {
    return this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone';
  }

  get isInvalid(): boolean {
    return this.status === 422;
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }

  /** No complete answer in time; of a watch: nothing came for too long. */
  get isTimeout(): boolean {
    return this.code === 'API_TIMEOUT';
  }

  get isThrottled(): boolean {
    return this.status === 429;
  }
}

/**
 * Whether a write that got this HTTP answer may have been done. A 4xx is the
 * API server's own refusal. Of the 5xx none is trusted: an API server that
 * lost etcd in the middle answers 500 or 503 after a write that went through.
 */
export function outcomeOfStatus(status: number): WriteOutcome {
  return status >= 400 && status < 500 ? 'refused' : 'unknown';
}

function codeOf(fields: ApiErrorFields): 'API_TIMEOUT' | 'API_UNREACHABLE' | 'API_REFUSED' {
  if (fields.timedOut) return 'API_TIMEOUT';
  return fields.status === 0 ? 'API_UNREACHABLE' : 'API_REFUSED';
}

function sentenceOf(fields: ApiErrorFields): string {
  const unknown = fields.outcome === 'unknown' ? ' (the outcome of the write is unknown)' : '';
  if (fields.status === 0) {
    const why = fields.detail ?? 'the connection failed';
    return `${fields.request} got no answer: ${why}${unknown}`;
  }
  const reason = fields.reason ? ` ${fields.reason}` : '';
  const detail = fields.detail ? `: ${fields.detail}` : '';
  return `${fields.request} was answered ${fields.status}${reason}${detail}${unknown}`;
}

function remedyOf(fields: ApiErrorFields): { remedy?: string } {
  if (fields.status === 401) {
    return { remedy: 'Check the credentials of the user in the kubeconfig.' };
  }
  if (fields.status === 403) {
    return { remedy: 'Grant the verb on this resource to the account in its ClusterRole.' };
  }
  if (fields.status === 0 && !fields.timedOut) {
    const usual = 'Check that the server in the kubeconfig is up and reachable from here.';
    return { remedy: remedyOfFault(fields.detail ?? '') ?? usual };
  }
  return {};
}
