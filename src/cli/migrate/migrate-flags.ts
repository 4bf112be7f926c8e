import type { Command } from 'commander';
import type { IpamFlagValues } from '../view/ipam-flags.ts';
import type { ViewFlagValues } from '../view/view-flags.ts';

export type MigrateFlags = ViewFlagValues & IpamFlagValues & { pools?: string[] };

export function addPools(command: Command): Command {
  return command.option(
    '--pools <path>',
    'IPPools from a file or folder, in the place of those of the same name; repeatable',
    (path: string, before: string[] | undefined) => [...(before ?? []), path],
  );
}
