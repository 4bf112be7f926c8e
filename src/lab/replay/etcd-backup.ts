/**
 * A backup of the API server's store, and the way back to it: etcd as somebody restores it from
 * last night's copy, without a bump of its revision. What came after the copy never was.
 */
import { cpSync, rmSync } from 'node:fs';
import type { Lab } from '../lab.ts';
import type { Cuts } from './cuts.ts';

export class EtcdBackup {
  readonly #lab: Lab;
  readonly #cuts: Cuts;

  constructor(lab: Lab, cuts: Cuts) {
    this.#lab = lab;
    this.#cuts = cuts;
  }

  /** While nothing writes: what is copied is what was. */
  async take(): Promise<void> {
    await this.#whileDown(() => copy(this.#store, this.#copy));
  }

  async putBack(): Promise<void> {
    await this.#whileDown(() => copy(this.#copy, this.#store));
  }

  discard(): void {
    rmSync(this.#copy, { recursive: true, force: true });
  }

  async #whileDown(act: () => void): Promise<void> {
    const { processes } = this.#lab;
    await this.#cuts.stopApiServer();
    // The embedded API server has no store beside itself.
    const hasEtcd = processes.hasRun('etcd');
    if (hasEtcd) await processes.end('etcd', 'SIGTERM');
    act();
    if (hasEtcd) processes.startAgain('etcd');
    await this.#cuts.startApiServer();
  }

  /** Certificates and tokens lie there too: they stay as they were. */
  get #store(): string {
    return this.#lab.folder.file('control');
  }

  get #copy(): string {
    return this.#lab.folder.file('backup');
  }
}

function copy(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
}
