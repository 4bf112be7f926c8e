/**
 * Brings the masquerade table in line with what is declared. Reading it starts a
 * program, so it is read when something new is declared, and every half minute for
 * what another program may have done to it. A node whose table cannot be written
 * goes on serving pods: only the way out of the cluster is missing. That is a
 * finding, and it is tried again every half minute.
 */

import { describeError } from '../base/errors.ts';
import { inFewestPrefixes } from '../kernel/masquerade.ts';
import type { DesiredMasquerade } from '../plan/node/desired-masquerade.ts';
import type { AgentWorld } from './agent-world.ts';

const lookEveryMs = 30_000;

export class MasqueradeReconciler {
  readonly #o: Pick<AgentWorld, 'kernel' | 'clock' | 'log'>;
  #declared: string | undefined;
  /** Why the last try failed. */
  #problems: string[] = [];
  #lookedAtMs = 0;

  constructor(options: Pick<AgentWorld, 'kernel' | 'clock' | 'log'>) {
    this.#o = options;
  }

  /** Why it is not as declared; empty if it is. */
  async declare(rules: DesiredMasquerade | undefined): Promise<string[]> {
    if (rules === undefined) return this.#remove();
    const wanted = asText(rules);
    const nowMs = this.#o.clock.monotonicMs();
    const isNew = wanted !== this.#declared;
    if (!isNew && nowMs - this.#lookedAtMs < lookEveryMs) return this.#problems;
    const hadFailed = this.#problems.length > 0;
    this.#declared = wanted;
    this.#lookedAtMs = nowMs;
    try {
      const held = await this.#o.kernel.masquerade();
      const isRight = typeof held === 'object' && asText(held) === wanted;
      if (!isRight) await this.#o.kernel.setMasquerade(rules);
      if (!isRight && !isNew && !hadFailed) {
        this.#o.log.warn(
          { reason: 'MasqueradeRepaired' },
          'another program changed the masquerade table; restored',
        );
      }
      this.#problems = [];
    } catch (error) {
      this.#problems = [describeError(error)];
    }
    return this.#problems;
  }

  /** What an earlier run may have left. Without the program there can be none, and none is needed. */
  async #remove(): Promise<[]> {
    if (this.#declared === 'none') return [];
    this.#declared = 'none';
    this.#problems = [];
    await this.#o.kernel.setMasquerade(undefined).catch(() => undefined);
    return [];
  }
}

/** One text for the same addresses, however they are cut into prefixes. */
function asText(rules: DesiredMasquerade): string {
  const { sources, exceptions } = inFewestPrefixes(rules);
  return `${sources} ${exceptions}`;
}
