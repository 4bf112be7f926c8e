import { CadastreError } from '../base/errors.ts';
import { request } from '../base/node-http.ts';
import { answerSeconds, type CniInput, machineMonotonicMs } from './cni/cni-call.ts';
import { writeCniHeaders } from './cni/cni-route.ts';

/** A command that only looks need not wait as long as a pod. */
const usualTimeoutMs = 10_000;

/** One question to the agent of this machine; its refusal is an error with its own sentence. */
export async function askAgent(
  socketPath: string,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
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
  const giveUpAtMs = machineMonotonicMs() + answerSeconds * 1000;
  const headers = writeCniHeaders({ giveUpAtMs, ...variables });
  const asked = { method: 'POST', path: '/cni', headers, timeoutMs: answerSeconds * 1000 };
  const { status, said } = await exchange(socketPath, asked, stdin);
  return { stdout: said, exitCode: status === 200 ? 0 : 1 };
}

function exchange(
  socketPath: string,
  asked: { method: string; path: string; headers: Record<string, string>; timeoutMs?: number },
  text: string | undefined,
): Promise<{ status: number; said: string }> {
  const { timeoutMs = usualTimeoutMs, ...rest } = asked;
  return new Promise((resolve, reject) => {
    let hasBegun = false;
    const call = request({ socketPath, ...rest }, (answer) => {
      hasBegun = true;
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', fail);
      answer.on('end', () => {
        clearTimeout(deadline);
        resolve({ status: answer.statusCode ?? 500, said: Buffer.concat(pieces).toString('utf8') });
      });
    });
    const fail = (cause: unknown) => {
      clearTimeout(deadline);
      reject(unreachable(socketPath, cause));
    };
    const deadline = setTimeout(() => {
      call.destroy(new SilentAgent(timeoutMs / 1000, hasBegun));
    }, timeoutMs);
    call.on('error', fail);
    call.end(text);
  });
}

/** It listens, and that is all. */
class SilentAgent extends Error {
  constructor(seconds: number, hasBegun: boolean) {
    super(
      hasBegun
        ? `it began to answer, and did not end within ${seconds} s`
        : `it took the connection and sent nothing for ${seconds} s`,
    );
  }
}

const stuckRemedy =
  'Its process is stopped or stuck: ps -o pid,stat,args shows T if it is stopped (kill -CONT), D if it waits for a disk; its log may say more.';
const noAgentRemedy =
  'Run this on a node where cadastre agent runs, or name its socket with --socket.';

const goneRemedy = 'Ask again: it ended or was restarted.';

/** By the kernel's error number: why, and what to do. */
const faults: Readonly<Record<string, readonly [why: string, remedy: string]>> = {
  ENOENT: ['there is no such socket', noAgentRemedy],
  ENOTDIR: ['there is no such socket', noAgentRemedy],
  ECONNREFUSED: ['nobody listens there', noAgentRemedy],
  ENOTSOCK: ['it is no socket', noAgentRemedy],
  EACCES: ['permission denied', 'Run this as root.'],
  EPERM: ['permission denied', 'Run this as root.'],
  EAGAIN: ['it takes no more connections', stuckRemedy],
  ECONNRESET: ['it closed the connection before its answer was whole', goneRemedy],
  EPIPE: ['it closed the connection before its answer was whole', goneRemedy],
};

function unreachable(socketPath: string, cause: unknown): CadastreError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const otherwise = [message, cause instanceof SilentAgent ? stuckRemedy : noAgentRemedy] as const;
  const [why, remedy] = faults[code ?? ''] ?? otherwise;
  const sentence = `the agent at ${socketPath} does not answer: ${why}`;
  return new CadastreError('AGENT_UNREACHABLE', sentence, { cause, remedy });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
