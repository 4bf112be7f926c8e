import { CadastreError } from '../../base/errors.ts';

/** `127.0.0.1:9470` or `[::1]:9470`. */
export function readListen(text: string, flag = '--listen'): { host: string; port: number } {
  const match = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65535) {
    throw new CadastreError('BAD_FLAG', `${flag}=${text} is not an address and port`, {
      remedy: 'Write it like 127.0.0.1:9470 or [::1]:9470; port 0 takes any free one.',
    });
  }
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port };
}
