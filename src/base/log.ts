/**
 * Logging is one JSON line per fact: `reason` is a word from the vocabulary in
 * model/reasons, the rest are fields of log-fields.ts, and no others: the compiler refuses one that is
 * not there. The interface is ours so that a test can pass a collecting one; the command line
 * wires pino.
 *
 * Debug lines are written `log.debug?.(…)`: while they are off `debug` is undefined, and neither
 * the fields nor the words are made.
 */
import type { LogFields } from './log-fields.ts';

/** These fields, and none that the vocabulary has not. */
type Only<F> = F & { [name in Exclude<keyof F, keyof LogFields>]: never };

export type LogCall = <F extends LogFields>(fields: Only<F>, message: string) => void;

export interface Log {
  /** Undefined: debug lines are off. */
  readonly debug: LogCall | undefined;
  readonly info: LogCall;
  readonly warn: LogCall;
  readonly error: LogCall;
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A log whose level can be changed while it runs. */
export interface LogLevelSwitch {
  level: LogLevel;
}

export const silentLog: Log = {
  debug: undefined,
  info() {},
  warn() {},
  error() {},
};
