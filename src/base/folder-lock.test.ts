import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockFolder } from './folder-lock.ts';

test('one writer a folder; the second is told who the first is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cadastre-lock-'));
  try {
    const lock = await lockFolder(folder, 'cadastre-state');
    await expect(lockFolder(folder, 'cadastre-state')).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      message: `${folder} is in use by process ${process.pid}`,
    });
    await lock.release();
    await (await lockFolder(folder, 'cadastre-state')).release();
  } finally {
    await rm(folder, { recursive: true });
  }
});
