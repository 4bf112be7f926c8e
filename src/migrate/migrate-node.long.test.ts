import { expect, test } from 'vitest';
import { ApiError } from '../kube/api-error.ts';
import type { MigrationWorld } from '../plan/migration/migration-next.ts';
import { beginUndo, type MigrationRun, runMigration } from './migrate-node.ts';
import type { MigrationView } from './migration-view.ts';

const moved = { migration: { nodeName: 'n', phase: 'Moved' } } as unknown as MigrationWorld;

function runOf(looks: (() => MigrationWorld)[], timeoutMs = 60_000): MigrationRun {
  let nowMs = 0;
  const look = async () => {
    nowMs += 1_000;
    return (looks.length > 1 ? looks.shift()! : looks[0]!)();
  };
  return {
    client: undefined as never,
    view: { look } as unknown as MigrationView,
    clock: { monotonicMs: () => nowMs, wallMs: () => 0 },
    say: () => {},
    timeoutMs,
    signal: new AbortController().signal,
  };
}

const fails = (status: number) => () => {
  throw new ApiError({ request: 'GET /api/v1/nodes/n', status, detail: 'scripted' });
};

test('an API server that restarts in the middle of a move does not end it', async () => {
  const looks = [fails(0), fails(503), () => moved];
  expect(await runMigration(runOf(looks), 'n')).toBe(moved.migration);
});

test('one that stays away ends it when the time is over, and says so', async () => {
  await expect(runMigration(runOf([fails(0)], 1_500), 'n')).rejects.toThrow(
    /n has not finished its move within 1.5 s; it waits at "GET \/api\/v1\/nodes\/n got no answer/,
  );
});

test('what the server refuses is told at once', async () => {
  await expect(runMigration(runOf([fails(403)]), 'n')).rejects.toThrow(/403/);
});

test('a way back that is refused leaves the move as it is', async () => {
  const world = {
    migration: { ...moved.migration, nodeUid: 'u', hasReleased: true, from: ['10.50.0.0/24'] },
    node: { uid: 'u', labels: {} },
    blocks: [],
    taken: [{ cidr: '10.50.0.0/24', node: 'n4' }],
  } as unknown as MigrationWorld;
  // No client: a write would fail otherwise.
  const { client, view } = runOf([() => world]);
  await expect(beginUndo(client, view, 'n')).rejects.toThrow(
    /^n cannot go back: 10\.50\.0\.0\/24 is of n4 now/,
  );
});
