import { CadastreError } from '../base/errors.ts';
import { request } from '../base/node-http.ts';
import type { CniInput } from './cni/cni-call.ts';
import { writeCniHeaders } from './cni/cni-route.ts';

/** One question to the agent of this machine; its refusal is an error with its own sentence. */
export async function askAgent(
  socketPath: string,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<unknown> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = text === undefined ? {} : { 'content-type': 'application/json' };
  const { status, said } = await exchange(socketPath, { method, path, headers }, text);
  const json = parse(said);
  if (status < 300) return json;
  const { error, remedy } = (json ?? {}) as { error?: string; remedy?: string };
  throw new CadastreError('BAD_INPUT', error ?? `the agent answered ${status}`, {
    ...(remedy === undefined ? {} : { remedy }),
  });
}

/** A CNI call, as the plugin on the host makes it; what it would print, and its exit code. */
export async function callCni(
  socketPath: string,
  { stdin, ...variables }: CniInput,
): Promise<{ stdout: string; exitCode: 0 | 1 }> {
  const headers = writeCniHeaders(variables);
  const asked = { method: 'POST', path: '/cni', headers, timeoutMs: 120_000 };
  const { status, said } = await exchange(socketPath, asked, stdin);
  return { stdout: said, exitCode: status === 200 ? 0 : 1 };
}

function exchange(
  socketPath: string,
  asked: { method: string; path: string; headers: Record<string, string>; timeoutMs?: number },
  text: string | undefined,
): Promise<{ status: number; said: string }> {
  const { timeoutMs: timeout = 10_000, ...rest } = asked;
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) =>
      reject(
        new CadastreError('AGENT_UNREACHABLE', `the agent at ${socketPath} does not answer`, {
          cause,
          remedy: 'Run this as root on a node where cadastre agent runs, or set --socket.',
        }),
      );
    const call = request({ socketPath, ...rest, timeout }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', fail);
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 500, said: Buffer.concat(pieces).toString('utf8') });
      });
    });
    call.on('timeout', () => call.destroy(new Error(`no answer within ${timeout / 1000} s`)));
    call.on('error', fail);
    call.end(text);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
