/**
 * Logging is one JSON line per fact: `reason` is a word from the vocabulary in
 * model/reasons, the rest are fields. The interface is ours so that a test can
 * pass a collecting one; the command line wires pino.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};
