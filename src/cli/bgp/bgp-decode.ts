import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CadastreError } from '../../base/errors.ts';
import { type DecodeOptions, decodeHex } from '../../bgp/wire/decode-hex.ts';
import type { TextOutput } from './text-output.ts';

export interface BgpDecodeArgs extends DecodeOptions {
  /** The message, or `-` for one message a line on stdin. */
  readonly hex: string;
}

export interface BgpDecodeStreams {
  readonly stdin: Readable;
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
}

/**
 * `cadastre bgp decode`. A message that would end a session is decoded fine:
 * the answer says so, and the exit code is 0. What is not hex at all is 2, or
 * with `-` a word on stderr for that line and 1 in the end.
 */
export async function runBgpDecode(args: BgpDecodeArgs, io: BgpDecodeStreams): Promise<number> {
  if (args.hex !== '-') {
    try {
      io.stdout.write(`${JSON.stringify(decodeHex(args.hex, args), null, 2)}\n`);
      return 0;
    } catch (error) {
      io.stderr.write(`cadastre: ${complaint(error)}\n`);
      return 2;
    }
  }
  let exitCode = 0;
  let lineNumber = 0;
  let messages = 0;
  for await (const line of createInterface({ input: io.stdin, crlfDelay: Infinity })) {
    lineNumber++;
    if (line.trim() === '') continue;
    messages++;
    try {
      io.stdout.write(`${JSON.stringify(decodeHex(line, args))}\n`);
    } catch (error) {
      io.stderr.write(`cadastre: stdin:${lineNumber}: ${complaint(error)}\n`);
      exitCode = 1;
    }
  }
  if (messages === 0) {
    io.stderr.write('cadastre: stdin: there is no message in it; give one a line, in hex\n');
    return 1;
  }
  return exitCode;
}

function complaint(error: unknown): string {
  if (!(error instanceof CadastreError)) throw error;
  return error.remedy === undefined ? error.message : `${error.message}; ${error.remedy}`;
}
