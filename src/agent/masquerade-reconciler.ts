/**
 * Brings the masquerade table in line with what is declared. Reading it starts a
 * program, so it is read when something new is declared, and every half minute for
 * what another program may have done to it. A node whose table cannot be written
 * goes on serving pods: only the way out of the cluster is missing, and that is a
 * finding.
 */

import { describeError } from '../base/errors.ts';
import type { DesiredMasquerade } from '../plan/node/desired-masquerade.ts';
import type { AgentWorld } from './agent-world.ts';

const lookEveryMs = 30_000;

export class MasqueradeReconciler {
  readonly #o: Pick<AgentWorld, 'kernel' | 'clock' | 'log'>;
  #declared: string | undefined;
  /** As the kernel shows what we made. */
  #made: string | undefined;
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
    if (!isNew && nowMs - this.#lookedAtMs < lookEveryMs) return [];
    try {
      const isRight = !isNew && asText(await this.#o.kernel.masquerade()) === this.#made;
      if (!isRight) await this.#o.kernel.setMasquerade(rules);
      if (!isRight) this.#made = asText(await this.#o.kernel.masquerade());
      if (!isRight && !isNew) {
        this.#o.log.warn(
          { reason: 'MasqueradeRepaired' },
          'another program changed the masquerade table; restored',
        );
      }
      this.#declared = wanted;
      this.#lookedAtMs = nowMs;
      return [];
    } catch (error) {
      this.#declared = undefined;
      return [describeError(error)];
    }
  }

  /** What an earlier run may have left. Without the program there can be none, and none is needed. */
  async #remove(): Promise<[]> {
    if (this.#declared === 'none') return [];
    this.#declared = 'none';
    await this.#o.kernel.setMasquerade(undefined).catch(() => undefined);
    return [];
  }
}

function asText(rules: DesiredMasquerade | undefined): string {
  if (rules === undefined) return 'none';
  return `${rules.sources.map(String).sort()} ${rules.exceptions.map(String).sort()}`;
}
