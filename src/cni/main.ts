import { basename } from 'node:path';
import { runPlugin } from './plugin.ts';

/** The plugin as a program of its own, called by the runtime under a name of its choice. */
process.exitCode = await runPlugin({
  env: process.env,
  name: process.env.CADASTRE_CNI_NAME || basename(process.argv[1] ?? 'cadastre', '.mjs'),
  async readStdin() {
    const pieces: Buffer[] = [];
    for await (const piece of process.stdin) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  },
  write: (text) => void process.stdout.write(text),
  say: (line) => void process.stderr.write(`${line}\n`),
});
