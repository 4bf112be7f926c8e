import { pino } from 'pino';
import type { Log } from './log.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export const logLevels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export interface JsonLogOptions {
  level?: LogLevel;
  /** Default stderr: stdout is for data. A path is appended to. */
  destination?: 'stdout' | 'stderr' | { path: string };
  /** Fields on every line, such as the component. */
  fields?: Record<string, string>;
}

/**
 * The log of a running part: one JSON object a line, with `time` in ISO 8601
 * and `level` as a word. Lines are written before the call returns: the last
 * words of a process that is about to exit are the ones that matter.
 */
export function jsonLog(options: JsonLogOptions = {}): Log {
  const where = options.destination ?? 'stderr';
  const dest = typeof where === 'object' ? where.path : where === 'stdout' ? 1 : 2;
  return pino(
    {
      level: options.level ?? 'info',
      base: options.fields ?? null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest, sync: true, mkdir: true }),
  );
}
