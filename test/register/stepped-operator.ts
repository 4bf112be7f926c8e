/**
 * The part of the operator that writes blocks — NodeWorker, CellGuards, BlockWriter
 * — on the API model, call by call. Every call waits for its turn, reads as well as
 * writes, so that a test can let two leaders meet in any order it likes, and leave
 * one of them dead at any point.
 */
import { silentLog } from '../../src/base/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { ApiError } from '../../src/kube/api-error.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { BlockWriter, type BlockWriterOptions } from '../../src/operator/block-writer.ts';
import { NodeWorker, type NodeWorkerOptions } from '../../src/operator/node-worker.ts';
import { holdingSources } from '../../src/plan/blocks/holdings.ts';
import { Register } from '../../src/plan/blocks/register.ts';
import { type Answer, type ApiModel, kinds, withSpec } from './api-model.ts';
import { auto, put } from './objects.ts';

export class SteppedOperator {
  readonly register = new Register(holdingSources);
  readonly #worker: NodeWorker;
  readonly #api: ApiModel;
  readonly #turn: () => Promise<void>;

  /** Knows what is there now, and from then on only what its own calls answer. */
  constructor(api: ApiModel, turn: () => Promise<void> = async () => {}) {
    this.#api = api;
    this.#turn = turn;
    for (const kind of kinds) for (const object of api.list(kind)) put(this.register, object);
    const writer = new BlockWriter({
      register: this.register,
      client: this.#client(),
      store: {
        put: (raw) => put(this.register, raw as KubeObject),
        remove: (name) => this.register.removeBlock(name),
      },
      log: silentLog,
      assertLeading: () => {},
    });
    const nothing = {
      projector: { project: async () => ({ kind: 'done' }), reportOnCiliumNode: async () => {} },
      reporter: { note() {}, forget() {}, report: async () => {} },
    } as unknown as Pick<NodeWorkerOptions, 'projector' | 'reporter'>;
    this.#worker = new NodeWorker({
      ...nothing,
      register: this.register,
      rules: auto,
      writer,
      mayAdopt: () => true,
      mayAssign: () => true,
      onAssigned: () => {},
      holdPool: async () => {},
      freeBlock: (block) => writer.free(block),
      log: silentLog,
      metrics: new Metrics(),
    });
  }

  async reconcile(node: string): Promise<void> {
    await this.#worker.reconcile(node, () => false);
  }

  #client(): BlockWriterOptions['client'] {
    const api = this.#api;
    const inTurn = async (act: () => Answer): Promise<KubeObject> => {
      await this.#turn();
      const answer = act();
      if (answer.kind === 'done') return answer.object;
      const [status, reason] =
        answer.kind === 'missing'
          ? [404, 'NotFound']
          : [409, answer.kind === 'exists' ? 'AlreadyExists' : 'Conflict'];
      throw new ApiError({ request: 'call', status, reason, outcome: 'refused' });
    };
    const client = {
      create: (_: unknown, body: KubeObject) => inTurn(() => api.create(body)),
      get: (_: unknown, name: string) =>
        inTurn(() => {
          const object = api.get('NodeBlock', name);
          return object === undefined ? { kind: 'missing' } : { kind: 'done', object, version: 0 };
        }),
      patch: (_: unknown, name: string, { body }: { body: unknown }) => {
        const { metadata, spec } = body as {
          metadata: { uid: string; resourceVersion: string };
          spec: Record<string, unknown>;
        };
        return inTurn(() => api.change('NodeBlock', name, metadata, (o) => withSpec(o, spec)));
      },
      delete: (_: unknown, name: string, fence: object) =>
        inTurn(() => api.delete('NodeBlock', name, fence)),
    };
    return client as unknown as BlockWriterOptions['client'];
  }
}

/**
 * Lets each actor go from one call to the next, one at a time. `next` says whose
 * turn it is of those that wait; undefined leaves the others where they are.
 */
export async function interleave(
  actors: ReadonlyArray<(turn: () => Promise<void>) => Promise<unknown>>,
  next: (waiting: readonly number[]) => number | undefined,
): Promise<void> {
  const waiting = new Map<number, () => void>();
  let running = actors.length;
  actors.forEach((actor, at) => {
    const turn = () => new Promise<void>((go) => void waiting.set(at, go));
    // A refusal ends a reconcile; the queue would try it again.
    void actor(turn)
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
      })
      .finally(() => {
        running -= 1;
      });
  });
  for (;;) {
    while (waiting.size < running) await new Promise(setImmediate);
    if (running === 0) return;
    const at = next([...waiting.keys()].sort());
    if (at === undefined) return;
    const go = waiting.get(at);
    waiting.delete(at);
    go?.();
    await new Promise(setImmediate);
  }
}
