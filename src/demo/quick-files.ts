import { type DurableFiles, realFiles } from '../agent/durable-files.ts';

/**
 * Files that do not wait for the disk. What is written survives the death of the
 * process, kill -9 included, which is all a play must survive; hundreds of agents
 * that each waited for the disk of a laptop would wait for each other all day.
 */
export const quickFiles: DurableFiles = {
  ...realFiles,
  async open(path) {
    const file = await realFiles.open(path);
    return { ...file, sync: async () => {} };
  },
  syncDirectory: async () => {},
};
