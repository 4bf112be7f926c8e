import { CadastreError } from '../../base/errors.ts';
import { fileFault, readTextFile } from '../../base/text-file.ts';
import { isLoopbackHost } from '../../console/guard.ts';

/** A token worth guessing at takes longer than anyone waits. */
const shortestToken = 16;

/**
 * The console's token: demanded on anything but loopback, taken from a file so
 * that it stands in no process list.
 */
export function readConsoleToken(
  listen: { host: string; port: number },
  file: string | undefined,
  flag: string,
): string | undefined {
  if (file === undefined) {
    if (isLoopbackHost(listen.host)) return undefined;
    throw new CadastreError('BAD_FLAG', `a console on ${listen.host} needs ${flag}`, {
      remedy: `Give ${flag} FILE with a secret in it, or listen on 127.0.0.1.`,
    });
  }
  let token: string;
  try {
    token = readTextFile(file).trim();
  } catch (cause) {
    throw new CadastreError('BAD_FLAG', `${flag}=${file} cannot be read: ${fileFault(cause)}`, {
      cause,
      remedy: `Give ${flag} a file with a secret in it.`,
    });
  }
  if (token.length < shortestToken || !/^[\w.~-]+$/.test(token)) {
    throw new CadastreError(
      'BAD_FLAG',
      `${flag}=${file} holds no token of at least ${shortestToken} letters, digits, dots or dashes`,
      { remedy: `Make one: openssl rand -hex 24 > ${file}` },
    );
  }
  return token;
}
