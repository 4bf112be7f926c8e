import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from './api-error.ts';

/** What a list-watch says of its troubles: once for each kind of trouble, not for each time. */
export class FollowLog {
  readonly #log: Log;
  readonly #resource: string;
  #said = '';

  constructor(log: Log, resource: string) {
    this.#log = log;
    this.#resource = resource;
  }

  works(): void {
    if (this.#said === '') return;
    this.#said = '';
    const resource = this.#resource;
    this.#log.info({ resource }, `listing and watching ${resource} works again`);
  }

  fails(error: unknown): void {
    const resource = this.#resource;
    const isApi = error instanceof ApiError;
    if (isApi && error.isGone) {
      this.#log.debug?.({ resource }, `${describeError(error)}; listing again`);
      return;
    }
    const kind = isApi ? `${error.code} ${error.status}` : describeError(error).slice(0, 20);
    const fields = { resource, error: describeError(error) };
    if (kind === this.#said) {
      this.#log.debug?.(fields, `still cannot list or watch ${resource}`);
      return;
    }
    this.#said = kind;
    if (isApi && error.isNotFound) {
      this.#log.info(fields, `the API server does not serve ${resource} yet; waiting for it`);
    } else {
      this.#log.warn(fields, `cannot list or watch ${resource}; retrying`);
    }
  }
}
