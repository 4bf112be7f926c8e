import { CadastreError, describeError } from '../../base/errors.ts';

/**
 * CNI's error numbers: those of the specification, and ours from 100 on. The
 * runtime shows `msg` to people, so it is the sentence; `details` is what to do.
 */
export const cniCodes = {
  IncompatibleVersion: 1,
  ContainerUnknown: 3,
  InvalidEnvironment: 4,
  DecodingFailure: 6,
  InvalidConfig: 7,
  TryAgainLater: 11,
  NotAvailable: 50,
  LimitedConnectivity: 51,
  WiringFailed: 100,
  NoFreeAddress: 101,
  FamilyNotServed: 102,
  RequestedRefused: 103,
  AlreadyAdded: 104,
  NotWritten: 105,
  CheckFailed: 106,
  Internal: 199,
} as const;

export type CniCode = keyof typeof cniCodes;

/** Codes with which the same call can never succeed. */
export const hopelessCodes: ReadonlySet<CniCode> = new Set<CniCode>([
  'IncompatibleVersion',
  'InvalidEnvironment',
  'DecodingFailure',
  'InvalidConfig',
]);

export class CniError extends Error {
  readonly code: CniCode;
  readonly details: string;

  constructor(code: CniCode, message: string, details = '', cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }

  toJson(cniVersion: string): object {
    return {
      cniVersion,
      code: cniCodes[this.code],
      msg: this.message,
      ...(this.details === '' ? {} : { details: this.details }),
    };
  }
}

/** What the kernel said, as the runtime gets it. */
export function wiringFailed(error: unknown): CniError {
  if (error instanceof CniError) return error;
  const remedy = error instanceof CadastreError ? error.remedy : undefined;
  return new CniError('WiringFailed', describeError(error), remedy, error);
}

export function asCniError(error: unknown): CniError {
  if (error instanceof CniError) return error;
  if (error instanceof CadastreError && error.code === 'STATE_NOT_WRITTEN') {
    return new CniError('NotWritten', describeError(error), error.remedy, error);
  }
  return new CniError('Internal', describeError(error), "see the agent's log", error);
}
