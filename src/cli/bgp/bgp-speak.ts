import { systemClock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import { silentLog } from '../../base/log.ts';
import { fileFault, readTextFile } from '../../base/text-file.ts';
import type { RestartEvidence } from '../../bgp/session/session-negotiation.ts';
import { Speaker } from '../../bgp/speaker/speaker.ts';
import { aborted } from '../stop-signals.ts';
import { readSpeakConfig, type SpeakConfig } from './bgp-speak-config.ts';
import { evidenceFor, RestartMark, readKernelRoutes } from './bgp-speak-evidence.ts';
import type { TextOutput } from './text-output.ts';

export interface BgpSpeakArgs {
  /** Path of the YAML file. */
  readonly config: string;
  /** How to exit: withdraw the routes, or leave them for a graceful restart. */
  readonly exit?: 'drain' | 'restart' | undefined;
}

export interface BgpSpeakIo {
  /** The state of all peers as JSON, when asked for. */
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  readonly log?: Log | undefined;
  /** Calls the listener on every request; returns how to stop. SIGHUP and SIGUSR1 unless given. */
  readonly onReload?: ((listener: () => void) => () => void) | undefined;
  readonly onReport?: ((listener: () => void) => () => void) | undefined;
}

const onSignal = (signal: NodeJS.Signals) => (listener: () => void) => {
  process.on(signal, listener);
  return () => void process.off(signal, listener);
};

/**
 * `cadastre bgp speak`: a speaker from a file, for labs and router teams. SIGHUP
 * reads the file again (one with a problem changes nothing), SIGUSR1 prints the
 * state of all peers, and the abort of `signal` ends it. Exit code 2 for a file
 * that cannot be used.
 */
export async function runBgpSpeak(
  args: BgpSpeakArgs,
  io: BgpSpeakIo,
  signal: AbortSignal,
): Promise<number> {
  const first = load(args.config, io);
  if (first === undefined) return 2;
  let config = first;
  const log = io.log ?? silentLog;
  const mark = new RestartMarkOf(first);
  const speaker = new Speaker({
    listen: first.listen,
    evidence: () => mark.evidence(config),
    world: { log },
    onUp: (peer) => io.stderr.write(`${peer.name}: established\n`),
    onDown: (peer, end) => io.stderr.write(`${peer.name}: ${end.detail}\n`),
  });
  try {
    await speaker.listen();
  } catch (error) {
    io.stderr.write(
      `cadastre: cannot listen for peers: ${describeError(error)}; set listen in ${args.config}\n`,
    );
    return 2;
  }
  apply(speaker, config, io);
  const stopReloading = (io.onReload ?? onSignal('SIGHUP'))(() => {
    const next = load(args.config, io);
    if (next === undefined) {
      io.stderr.write('configuration not reloaded; the running one stays in force\n');
      return;
    }
    config = next;
    apply(speaker, config, io);
    io.stderr.write(`configuration reloaded from ${args.config}\n`);
  });
  const stopReporting = (io.onReport ?? onSignal('SIGUSR1'))(() => {
    // `unspeakable` is what this JSON has always called them.
    const peers = speaker.peers().map(({ unencodable, ...peer }) => ({
      ...peer,
      unspeakable: unencodable,
    }));
    io.stdout.write(`${JSON.stringify({ peers })}\n`);
  });
  await aborted(signal);
  stopReloading();
  stopReporting();
  const how = args.exit ?? 'drain';
  await speaker.close(how);
  mark.stop(how);
  return 0;
}

/** The mark of the first configuration: whether we have restarted is decided once, at the start. */
class RestartMarkOf {
  readonly #mark: RestartMark | undefined;
  readonly #hasRestarted: boolean;
  readonly #untilMs: number;

  constructor({ gracefulRestart }: SpeakConfig) {
    const { seconds, stateFile } = gracefulRestart ?? { seconds: 0, stateFile: undefined };
    const nowMs = systemClock.wallMs();
    this.#mark = stateFile === undefined ? undefined : new RestartMark(stateFile);
    this.#hasRestarted = this.#mark?.wasAliveWithin(seconds, nowMs) ?? false;
    this.#untilMs = nowMs + seconds * 1000;
    this.#mark?.keepYoung(Math.max(seconds * 250, 1000));
  }

  evidence(config: SpeakConfig): RestartEvidence {
    // RFC 4724 §4.1: after the restart time nobody keeps our routes any more.
    const isInTime = systemClock.wallMs() <= this.#untilMs;
    return evidenceFor(config.announcements, this.#hasRestarted && isInTime, readKernelRoutes());
  }

  stop(how: 'restart' | 'drain'): void {
    this.#mark?.stop(how);
  }
}

function load(path: string, io: BgpSpeakIo): SpeakConfig | undefined {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (error) {
    io.stderr.write(`cadastre: --config ${path} cannot be read: ${fileFault(error)}\n`);
    return undefined;
  }
  const result = readSpeakConfig(text);
  if (result.kind === 'config') return result.config;
  for (const { line, key, sentence } of result.problems) {
    io.stderr.write(`cadastre: ${path}:${line}: ${key === '' ? '' : `${key}: `}${sentence}\n`);
  }
  return undefined;
}

function apply(speaker: Speaker, config: SpeakConfig, io: BgpSpeakIo): void {
  for (const { name, reason } of speaker.setPeers(config.peers)) {
    io.stderr.write(`peer ${name} is refused: ${reason}\n`);
  }
  for (const { announcement, reason } of speaker.set(config.announcements)) {
    io.stderr.write(`announcement ${announcement.prefix} is refused: ${reason}\n`);
  }
}
