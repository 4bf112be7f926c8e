/**
 * A real part as a child process that cannot outlive the test.
 *
 * Tests die in many ways (a crash, kill -9, a closed terminal), and most of
 * them run no exit hook. So each part gets a watcher: a shell that reads from
 * a pipe whose other end only we hold. The kernel closes it when we die, by
 * whatever cause; the read ends, and the watcher kills the part. Both run in
 * groups of their own, so that Ctrl-C reaches us first and never the watcher.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

export interface PartProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Set once it has ended: `exit 1`, `SIGKILL`. */
  readonly ended: string | undefined;
  /** SIGTERM, then SIGKILL after ten seconds; returns when the process is gone. */
  stop(): Promise<void>;
  kill9(): Promise<void>;
  /** The last lines it logged, for an error message. */
  tail(lines?: number): string;
}

export interface PartOptions {
  name: string;
  binary: string;
  args: string[];
  logFile: string;
  env?: Record<string, string>;
  /** Removed by the watcher if we die; removed by the caller otherwise. */
  dir: string;
}

const watcherScript = `trap '' HUP INT TERM
read -r word
[ "$word" = stopped ] && exit
kill -s KILL -- "-$1"
sleep 0.2
rm -rf "$2"`;

let isTiedToRunner = false;

/**
 * A test worker whose runner was killed would go on to the end of its file, on
 * its own; the channel between them closes at once.
 */
function tieToRunner(): void {
  if (isTiedToRunner || process.channel === undefined) return;
  isTiedToRunner = true;
  process.once('disconnect', () => process.exit(1));
}

export function startPart(options: PartOptions): PartProcess {
  tieToRunner();
  const log = openSync(options.logFile, 'a');
  const child = spawn(options.binary, options.args, {
    cwd: options.dir,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
  const pid = child.pid;
  if (pid === undefined) {
    // Without a listener Node would throw the same again as an uncaught error.
    child.on('error', () => {});
    throw new Error(`${options.name}: could not start ${options.binary}`);
  }
  const watcher = watch(pid, options.dir);

  let ended: string | undefined;
  const gone = new Promise<void>((resolve) => {
    child.on('exit', (code, signal) => {
      ended = signal ?? `exit ${code}`;
      // From now on the pid may be somebody else's: dismiss before it is reused.
      dismiss(watcher);
      resolve();
    });
  });

  const signalAndWait = async (signal: NodeJS.Signals) => {
    if (ended !== undefined) return;
    // While we wait the process must keep Node alive; otherwise it may not.
    child.ref();
    if (signal === 'SIGKILL') killGroup(pid);
    else child.kill(signal);
    const late = setTimeout(() => killGroup(pid), 10_000);
    await gone;
    clearTimeout(late);
  };

  return {
    name: options.name,
    pid,
    logFile: options.logFile,
    get ended() {
      return ended;
    },
    stop: () => signalAndWait('SIGTERM'),
    kill9: () => signalAndWait('SIGKILL'),
    tail: (lines = 30) =>
      readFileSync(options.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n'),
  };
}

/** With whatever the part started itself: the part leads a group of its own. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function watch(pid: number, dir: string): ChildProcess {
  const watcher = spawn('/bin/sh', ['-c', watcherScript, 'part-watcher', String(pid), dir], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.unref();
  // The pipe must not keep Node alive; only its closing matters.
  (watcher.stdin as unknown as { unref(): void }).unref();
  watcher.stdin?.on('error', () => {});
  return watcher;
}

function dismiss(watcher: ChildProcess): void {
  watcher.stdin?.end('stopped\n');
}

/** Asks until `isReady` says so; a part that has ended is an error at once, with its log. */
export async function untilReady(
  part: PartProcess,
  isReady: () => Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let last = 'it never answered';
  for (;;) {
    if (part.ended !== undefined) {
      throw new PartFailed(`${part.name} ended (${part.ended}) before it was ready`, part);
    }
    try {
      if (await isReady()) return;
      last = 'it answered, but not ready';
    } catch (error) {
      last = (error as Error).message;
    }
    if (performance.now() > deadline) {
      throw new PartFailed(`${part.name} was not ready after ${timeoutMs / 1000} s: ${last}`, part);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The message ends with what the part itself logged last. */
export class PartFailed extends Error {
  readonly log: string;

  constructor(message: string, part: PartProcess) {
    const log = part.tail();
    super(`${message}; the end of ${part.logFile}:\n${log}`);
    this.name = 'PartFailed';
    this.log = log;
  }

  /** Somebody else took the port between our asking for a free one and its use. */
  get isPortTaken(): boolean {
    return this.log.includes('address already in use');
  }
}
