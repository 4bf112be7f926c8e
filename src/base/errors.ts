/**
 * Coded errors: exceptions for a broken world or bad input. Each carries a
 * stable code (explained in docs/errors.md), a sentence that says what, where
 * and which value, and what to do about it. Judgement never throws; it returns
 * refusals as values.
 */
export class CadastreError extends Error {
  readonly code: ErrorCode;
  /** What the reader can do about it; printed after the message. */
  readonly remedy: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; remedy?: string } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CadastreError';
    this.code = code;
    this.remedy = options.remedy;
  }
}

/** Every code that exists. A test keeps docs/errors.md in step. */
export const errorCodes = {
  BAD_USAGE: 'The command line was not understood.',
  BAD_FLAG: 'A flag has a value that cannot work.',
  BAD_INPUT: 'A file or object could not be understood.',
  BAD_KUBECONFIG: 'The kubeconfig could not be read or does not name a usable cluster.',
  API_UNREACHABLE: 'The API server could not be reached.',
  API_REFUSED: 'The API server answered with an error.',
  API_TIMEOUT: 'The API server did not answer in time; the outcome of a write is unknown.',
  STATE_DAMAGED: 'What was kept on disk cannot be read.',
  STATE_LOCKED: 'Another process uses the same state folder.',
  STATE_NOT_WRITTEN: 'A change could not be written to disk, and was not made.',
  KERNEL_UNAVAILABLE: 'This machine gives no access to a Linux kernel.',
  KERNEL_NOT_PERMITTED: 'The kernel does not let this process change the network.',
  KERNEL_LACKS: 'The kernel, or a program beside it, lacks what was asked for.',
  KERNEL_REFUSED: 'The kernel answered with an error.',
  NAMESPACE_GONE: 'There is no network namespace at that path.',
  LINK_EXISTS: 'An interface of that name exists already.',
  AGENT_UNREACHABLE: "The agent's socket on this machine does not answer.",
  NO_LAB: 'There is no lab of that name.',
  LAB_EXISTS: 'There is a lab of that name already.',
  LAB_FAILED: 'A part of the lab could not be made, or did not do its part.',
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** The message of anything thrown, with its cause, on one line. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `: ${describeError(error.cause)}`;
  return `${error.message}${cause}`;
}
