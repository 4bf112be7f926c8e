import type { Credential, CredentialSource } from './access.ts';
import { FileValue } from './file-value.ts';

/** Text that is given, or read from a file again and again. */
export type MaybeFile = string | FileValue;

interface Parts {
  token?: MaybeFile | undefined;
  /** A ready Authorization value; for basic authentication. */
  authorization?: string | undefined;
  cert?: MaybeFile | undefined;
  key?: MaybeFile | undefined;
}

/**
 * An identity put together from a kubeconfig's user: any part may be a file
 * that is rotated under us. The Credential object stays the same until one of
 * its parts changes.
 */
export class ComposedCredentials implements CredentialSource {
  readonly #parts: Parts;
  #current: Credential;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#current = compose(parts);
  }

  current(): Credential {
    const next = compose(this.#parts);
    const last = this.#current;
    const isSame =
      next.authorization === last.authorization && next.cert === last.cert && next.key === last.key;
    if (!isSame) this.#current = next;
    return this.#current;
  }

  async renew(rejected: Credential): Promise<boolean> {
    for (const part of [this.#parts.token, this.#parts.cert, this.#parts.key]) {
      if (part instanceof FileValue) part.look();
    }
    return this.current() !== rejected;
  }
}

function compose(parts: Parts): Credential {
  const token = parts.token === undefined ? '' : textOf(parts.token).trim();
  return {
    authorization: token === '' ? parts.authorization : `Bearer ${token}`,
    cert: parts.cert === undefined ? undefined : textOf(parts.cert),
    key: parts.key === undefined ? undefined : textOf(parts.key),
  };
}

function textOf(value: MaybeFile): string {
  return typeof value === 'string' ? value : value.read();
}
