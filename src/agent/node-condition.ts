import { describeError } from '../base/errors.ts';
import { agentConditionType } from '../model/keys.ts';
import type { Condition, KubeObject } from '../model/object.ts';
import { nodes } from '../model/resources.ts';
import type { AgentWorld } from './agent-world.ts';

type ConditionWorld = Pick<AgentWorld, 'client' | 'clock' | 'log'>;

/**
 * The agent's condition on its Node: what `kubectl describe node` shows while
 * the node waits. A node that was never kept waiting costs no write.
 */
export class NodeConditionWriter {
  readonly #o: ConditionWorld & { nodeName: string };
  #written: string | undefined;
  /** What the Node says; an earlier run may have left something there. */
  #held: Condition | undefined | 'unread' = 'unread';
  #wanted: Condition | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: ConditionWorld & { nodeName: string }) {
    this.#o = options;
  }

  /** Best effort, one write at a time; the next declaration tries again. */
  declare(state: { isReady: boolean; reason: string; detail: string }): void {
    this.#wanted = {
      type: agentConditionType,
      status: state.isReady ? 'True' : 'False',
      reason: state.reason,
      message: state.detail,
    };
    if (JSON.stringify(this.#wanted) === this.#written) return;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async #read(): Promise<Condition | undefined> {
    const { client, nodeName } = this.#o;
    const object = await client.get<KubeObject>(nodes, nodeName, { retries: 0 });
    const status = object.status as { conditions?: Condition[] } | undefined;
    return status?.conditions?.find(({ type }) => type === agentConditionType);
  }

  async #write(): Promise<void> {
    const wanted = this.#wanted;
    if (wanted === undefined) return;
    try {
      if (this.#held === 'unread') this.#held = await this.#read();
      const held = this.#held;
      if (wanted.status === 'True' && (held === undefined || held.status === 'True')) {
        this.#written = JSON.stringify(wanted);
        return;
      }
      const nowText = new Date(this.#o.clock.wallMs()).toISOString();
      const since = held?.status === wanted.status ? held.lastTransitionTime : undefined;
      const dated = { ...wanted, lastTransitionTime: since ?? nowText };
      const condition = { ...dated, lastHeartbeatTime: nowText };
      await this.#o.client.patch(nodes, this.#o.nodeName, {
        type: 'strategic',
        subresource: 'status',
        body: { status: { conditions: [condition] } },
        retries: 0,
      });
      this.#held = dated;
      this.#written = JSON.stringify(wanted);
    } catch (error) {
      this.#o.log.debug({ error: describeError(error) }, "could not write the Node's condition");
    }
  }
}
