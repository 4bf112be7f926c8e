/** A speaker and a collector that talk over loopback, and what tests ask of them. */
import { Collector, type CollectorOptions } from '../../src/bgp/collector.ts';
import { Speaker, type SpeakerOptions } from '../../src/bgp/speaker/speaker.ts';
import type { PeerSettings } from '../../src/model/peer-settings.ts';

export const speakerAddress = '127.0.0.1';
export const collectorAddress = '127.0.0.2';
/** The next hop of what the speaker announces. */
export const speakerNextHop = '10.4.94.32';

/** Timers short enough for a test; nothing is asserted about them. */
export const quick = { connectRetrySeconds: 1, idleSeconds: 0.02, maxIdleSeconds: 0.1 };

export interface PairOptions {
  speaker?: SpeakerOptions;
  collector?: CollectorOptions;
  /** Settings of both ends. */
  both?: Partial<PeerSettings>;
  /** How the speaker sees the collector. */
  toCollector?: Partial<PeerSettings>;
  toSpeaker?: Partial<PeerSettings>;
}

export class Pair {
  readonly collector: Collector;
  speaker: Speaker;
  readonly #options: PairOptions;

  private constructor(options: PairOptions) {
    this.#options = options;
    this.collector = new Collector({
      listen: { address: collectorAddress, port: 0 },
      ...options.collector,
    });
    this.speaker = new Speaker({ listen: false, ...options.speaker });
  }

  static async start(options: PairOptions = {}): Promise<Pair> {
    const pair = new Pair(options);
    await pair.collector.listen();
    pair.collector.setPeers([pair.speakerSettings()]);
    pair.speaker.setPeers([pair.collectorSettings()]);
    return pair;
  }

  speakerSettings(more: Partial<PeerSettings> = {}): PeerSettings {
    return {
      name: 'node',
      address: speakerAddress,
      asn: 64513,
      localAsn: 64524,
      routerId: '10.0.0.2',
      isPassive: true,
      ...quick,
      ...this.#options.both,
      ...this.#options.toSpeaker,
      ...more,
    };
  }

  collectorSettings(more: Partial<PeerSettings> = {}): PeerSettings {
    return {
      name: 'router',
      address: collectorAddress,
      port: this.collector.port,
      localAddress: speakerAddress,
      asn: 64524,
      localAsn: 64513,
      routerId: '10.0.0.1',
      // The session's own address is of 127.0.0.0/8, which is no next hop (RFC 4271 §6.3).
      nextHop: { ipv4: speakerNextHop, ipv6: '2001:db8::1' },
      ...quick,
      ...this.#options.both,
      ...this.#options.toCollector,
      ...more,
    };
  }

  /** A speaker process ended and the next one begins. */
  renewSpeaker(options: SpeakerOptions = {}): Speaker {
    this.speaker = new Speaker({ listen: false, ...this.#options.speaker, ...options });
    this.speaker.setPeers([this.collectorSettings()]);
    return this.speaker;
  }

  router() {
    return this.speaker.peers().find((peer) => peer.name === 'router');
  }

  /** What the collector holds, as `prefix via next hop`. */
  held(): string[] {
    return this.collector
      .routesOf('node')
      .map((route) => `${route.prefix} via ${route.nextHops[0]}`)
      .sort();
  }

  async close(): Promise<void> {
    await this.speaker.close('restart');
    await this.collector.close();
  }
}

export async function until(what: string, isSo: () => boolean, withinMs = 45_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
