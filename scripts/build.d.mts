/** Whether there is a command line to run. */
export function buildCli(options?: { quiet?: boolean }): Promise<boolean>;
export function buildProgram(entry: string, outfile: string): Promise<void>;
