import { CadastreError } from '../base/errors.ts';
import { request } from '../base/node-http.ts';

/** One question to the agent of this machine; its refusal is an error with its own sentence. */
export function askAgent(
  socketPath: string,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) =>
      reject(
        new CadastreError('AGENT_UNREACHABLE', `the agent at ${socketPath} does not answer`, {
          cause,
          remedy: 'Run this as root on a node where cadastre agent runs, or set --socket.',
        }),
      );
    const text = body === undefined ? undefined : JSON.stringify(body);
    const asked = request(
      {
        socketPath,
        method,
        path,
        timeout: 10_000,
        headers: text === undefined ? {} : { 'content-type': 'application/json' },
      },
      (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', fail);
        answer.on('end', () => {
          const said = Buffer.concat(pieces).toString('utf8');
          const json = parse(said);
          if ((answer.statusCode ?? 500) < 300) return resolve(json);
          const { error, remedy } = (json ?? {}) as { error?: string; remedy?: string };
          reject(
            new CadastreError('BAD_INPUT', error ?? `the agent answered ${answer.statusCode}`, {
              ...(remedy === undefined ? {} : { remedy }),
            }),
          );
        });
      },
    );
    asked.on('timeout', () => asked.destroy(new Error('no answer within 10 s')));
    asked.on('error', fail);
    asked.end(text);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
