/** The kernel said no. Which of our codes that is depends on what it said. */
import { CadastreError, type ErrorCode } from '../base/errors.ts';

type Errno = keyof typeof errnoNumbers;

/** Linux numbers, the same on every architecture Node supports. */
const errnoNumbers = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  EINTR: 4,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EBUSY: 16,
  EEXIST: 17,
  ENODEV: 19,
  EINVAL: 22,
  ENOSPC: 28,
  ERANGE: 34,
  EOPNOTSUPP: 95,
  EAFNOSUPPORT: 97,
  EADDRINUSE: 98,
  EADDRNOTAVAIL: 99,
  ENETDOWN: 100,
  ENETUNREACH: 101,
  ENOBUFS: 105,
  ETIMEDOUT: 110,
  EHOSTUNREACH: 113,
} as const;

const namesByNumber = new Map<number, Errno>(
  Object.entries(errnoNumbers).map(([name, number]) => [number, name as Errno]),
);

export function errnoName(errno: number): string {
  return namesByNumber.get(errno) ?? `errno ${errno}`;
}

export class KernelError extends CadastreError {
  /** `EEXIST`, or `errno 123` where we have no name. */
  readonly errno: string;

  constructor(
    what: string,
    errno: string,
    options: { detail?: string | undefined; code?: ErrorCode; remedy?: string } = {},
  ) {
    const code = options.code ?? codeOf(errno);
    const remedy = options.remedy ?? remedies[code];
    const detail = options.detail === undefined ? '' : ` (${options.detail})`;
    super(
      code,
      `the kernel refused: ${what}: ${errno}${detail}`,
      remedy === undefined ? {} : { remedy },
    );
    this.name = 'KernelError';
    this.errno = errno;
  }
}

function codeOf(errno: string): ErrorCode {
  switch (errno) {
    case 'EPERM':
    case 'EACCES':
      return 'KERNEL_NOT_PERMITTED';
    case 'EOPNOTSUPP':
    case 'EAFNOSUPPORT':
      return 'KERNEL_LACKS';
    default:
      return 'KERNEL_REFUSED';
  }
}

const remedies: Partial<Record<ErrorCode, string>> = {
  KERNEL_NOT_PERMITTED: 'Run as root, or with CAP_NET_ADMIN and CAP_SYS_ADMIN.',
};

export function isErrno(error: unknown, ...names: Errno[]): error is KernelError {
  return error instanceof KernelError && names.includes(error.errno as Errno);
}
