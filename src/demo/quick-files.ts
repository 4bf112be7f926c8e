import { constants, open } from 'node:fs/promises';
import { type DurableFiles, realFile, realFiles } from '../agent/durable-files.ts';

/**
 * Files that do not wait for the disk. What is written survives the death of the
 * process, kill -9 included, which is all a play must survive; hundreds of agents
 * that each waited for the disk of a laptop would wait for each other all day.
 */
export const quickFiles: DurableFiles = {
  ...realFiles,
  async open(path) {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return { ...realFile(handle), sync: async () => {} };
  },
  syncDirectory: async () => {},
};
