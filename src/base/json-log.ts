import { pino } from 'pino';
import type { Log, LogCall, LogLevel, LogLevelSwitch } from './log.ts';
import { printableLines } from './printable.ts';

export { type LogLevel, logLevels } from './log.ts';

interface JsonLogOptions {
  level?: LogLevel;
  /** Default stderr: stdout is for data. A path is appended to. */
  destination?: 'stdout' | 'stderr' | { path: string };
  /** Fields on every line, such as the component. */
  fields?: Record<string, string>;
}

/** Octets of lines that are kept while nothing can be written. */
const mostUnwritten = 1 << 20;

/**
 * The log of a running part: one JSON object a line, with `time` in ISO 8601
 * and `level` as a word. Lines are written before the call returns: the last
 * words of a process that is about to exit are the ones that matter.
 */
export function jsonLog(options: JsonLogOptions = {}): Log & LogLevelSwitch {
  const where = options.destination ?? 'stderr';
  const dest = typeof where === 'object' ? where.path : where === 'stdout' ? 1 : 2;
  const lines = pino.destination({ dest, sync: true, mkdir: true, maxLength: mostUnwritten });
  // A full disk under the log takes the log, not the node's addresses: lines wait, then are dropped.
  lines.on('error', () => {});
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: options.fields ?? null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Pino escapes what JSON demands; of C1 and of what changes the reading order it demands nothing.
    { write: (line) => void lines.write(printableLines(line)) },
  );
  const at =
    (level: LogLevel): LogCall =>
    (fields: object, message: string) =>
      logger[level](fields, message);
  const debug = at('debug');
  // Asked for each decision of a busy program: a variable, not a question to pino.
  let debugNow = logger.level === 'debug' ? debug : undefined;
  return {
    get debug() {
      return debugNow;
    },
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    get level() {
      return logger.level as LogLevel;
    },
    set level(level) {
      logger.level = level;
      debugNow = level === 'debug' ? debug : undefined;
    },
  };
}
