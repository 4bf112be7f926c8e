import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.doUnmock('node:module');
  vi.unstubAllGlobals();
  vi.resetModules();
});

test('without koffi the refusal names it, says why, and what to do', async () => {
  // Another file may have loaded it in this worker.
  vi.resetModules();
  vi.doMock('node:module', () => ({
    createRequire: () => () => {
      throw new Error("Cannot find module 'koffi'");
    },
  }));
  const { nativeNetlink } = await import('./native.ts');
  expect(nativeNetlink).toThrowError(
    expect.objectContaining({
      code: 'KERNEL_UNAVAILABLE',
      message: expect.stringContaining('koffi'),
      cause: expect.objectContaining({ message: "Cannot find module 'koffi'" }),
      remedy: expect.stringContaining('--include=optional'),
    }),
  );
});

test('off Linux the refusal names the system', async () => {
  vi.stubGlobal('process', { ...process, platform: 'darwin' });
  const { nativeNetlink } = await import('./native.ts');
  expect(nativeNetlink).toThrowError(
    expect.objectContaining({
      code: 'KERNEL_UNAVAILABLE',
      message: expect.stringContaining('darwin'),
    }),
  );
});
