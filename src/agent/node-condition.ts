import { describeError } from '../base/errors.ts';
import type { Condition, KubeObject } from '../model/object.ts';
import type { Reason } from '../model/reasons.ts';
import { nodes } from '../model/resources.ts';
import type { AgentWorld } from './agent-world.ts';

type ConditionWorld = Pick<AgentWorld, 'client' | 'clock' | 'log'>;

/** Of one condition the words may change with every pod; they are written so often at most. */
const wordsEveryMs = 30_000;
const never = Number.NEGATIVE_INFINITY;

interface Declared {
  wanted: Condition;
  /** What was written last, as text. */
  written: string;
  writtenAtMs: number;
}

/**
 * The agent's conditions on its Node: what `kubectl describe node` shows while
 * the node waits, or is full. One that was always True costs no write.
 */
export class NodeConditionWriter {
  readonly #o: ConditionWorld & { nodeName: string };
  readonly #declared = new Map<string, Declared>();
  /** What the Node says, by type; an earlier run may have left something there. */
  #held: Map<string, Condition> | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: ConditionWorld & { nodeName: string }) {
    this.#o = options;
  }

  /** Best effort, one write at a time; the next declaration tries again. */
  declare(type: string, state: { isReady: boolean; reason: Reason; detail: string }): void {
    const wanted: Condition = {
      type,
      status: state.isReady ? 'True' : 'False',
      reason: state.reason,
      message: state.detail,
    };
    const declared = this.#declared.get(type) ?? { wanted, written: '', writtenAtMs: never };
    const { status, reason } = declared.wanted;
    if (status !== wanted.status || reason !== wanted.reason) declared.writtenAtMs = never;
    declared.wanted = wanted;
    this.#declared.set(type, declared);
    if (this.#unwritten().length === 0) return;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  #unwritten(): Declared[] {
    const nowMs = this.#o.clock.monotonicMs();
    return [...this.#declared.values()].filter(
      ({ wanted, written, writtenAtMs }) =>
        JSON.stringify(wanted) !== written && nowMs - writtenAtMs >= wordsEveryMs,
    );
  }

  async #read(): Promise<Map<string, Condition>> {
    const { client, nodeName } = this.#o;
    const object = await client.get<KubeObject>(nodes, nodeName, { retries: 0 });
    const status = object.status as { conditions?: Condition[] } | undefined;
    return new Map(status?.conditions?.map((condition) => [condition.type, condition]));
  }

  async #write(): Promise<void> {
    const { client, clock, nodeName, log } = this.#o;
    try {
      this.#held ??= await this.#read();
      const held = this.#held;
      const all = this.#unwritten().map((declared) => ({ declared, wanted: declared.wanted }));
      const nowText = new Date(clock.wallMs()).toISOString();
      const conditions: Condition[] = [];
      for (const { wanted } of all) {
        const before = held.get(wanted.type);
        if (wanted.status === 'True' && (before === undefined || before.status === 'True'))
          continue;
        const since = before?.status === wanted.status ? before.lastTransitionTime : undefined;
        conditions.push({ ...wanted, lastTransitionTime: since ?? nowText });
      }
      if (conditions.length > 0) {
        const body = {
          status: { conditions: conditions.map((one) => ({ ...one, lastHeartbeatTime: nowText })) },
        };
        const options = { type: 'strategic', subresource: 'status', body, retries: 0 } as const;
        await client.patch(nodes, nodeName, options);
      }
      for (const condition of conditions) held.set(condition.type, condition);
      for (const { declared, wanted } of all) {
        declared.written = JSON.stringify(wanted);
        declared.writtenAtMs = clock.monotonicMs();
      }
    } catch (error) {
      log.debug?.({ error: describeError(error) }, "could not write the Node's condition");
    }
  }
}
