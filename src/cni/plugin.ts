/**
 * The CNI plugin in TypeScript, for machines without a C compiler. It speaks
 * to the agent exactly as cni/shim/cadastre-cni.c does (whose head describes
 * the protocol), and one set of cases runs against both. It imports nothing
 * of ours: starting is most of what it costs.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

export interface PluginWorld {
  env: Readonly<Record<string, string | undefined>>;
  /** The name under which the plugin was called. */
  name: string;
  readStdin(): Promise<Uint8Array>;
  write(text: string | Uint8Array): void;
  say(line: string): void;
}

const versions = { cniVersion: '1.1.0', supportedVersions: ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] };
const answerMs = 120_000;

/** One call; gives the exit code. */
export async function runPlugin(world: PluginWorld): Promise<number> {
  const { env } = world;
  const command = env.CNI_COMMAND ?? '';
  if (command === 'VERSION') {
    world.write(`${JSON.stringify(versions)}\n`);
    return 0;
  }
  const stdin = await world.readStdin();
  const request = encodeRequest(world, stdin);
  const socketPath = env.CADASTRE_SOCKET || '/run/cadastre/agent.sock';
  let why: string;
  try {
    const { status, body } = await ask(socketPath, request);
    if (status === 200 || status === 422) {
      world.write(body);
      return status === 200 ? 0 : 1;
    }
    why = 'it is not well';
  } catch (error) {
    why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  }
  if (command === 'DEL') {
    try {
      remember(env.CADASTRE_CNI_SPOOL || '/var/lib/cadastre/cni-spool', env, request);
      world.say(`the agent at ${socketPath} is away (${why}); it will do this DEL when it is back`);
      return 0;
    } catch (error) {
      why = (error as Error).message;
    }
  }
  const found = /"cniVersion"\s*:\s*"([0-9.]{1,15})"/.exec(Buffer.from(stdin).toString());
  const answer = {
    cniVersion: found?.[1] ?? '1.1.0',
    code: command === 'STATUS' ? 50 : 11,
    msg: 'the cadastre agent does not answer',
    details: why,
  };
  world.write(`${JSON.stringify(answer)}\n`);
  return 1;
}

function encodeRequest({ env, name }: PluginWorld, stdin: Uint8Array): Uint8Array {
  const headers = {
    'CNI-Command': env.CNI_COMMAND,
    'CNI-ContainerID': env.CNI_CONTAINERID,
    'CNI-Netns': env.CNI_NETNS,
    'CNI-Ifname': env.CNI_IFNAME,
    'CNI-Args': env.CNI_ARGS,
    'CNI-Path': env.CNI_PATH,
    'CNI-Plugin': name,
  };
  const lines = [
    'POST /cni HTTP/1.1',
    'Host: cadastre',
    'Connection: close',
    ...Object.entries(headers).map(([key, value]) => `${key}: ${encode(value ?? '')}`),
    `Content-Length: ${stdin.byteLength}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), stdin]);
}

/** Percent-encoded, so that no value can end a header; the same characters stay as in C. */
function encode(value: string): string {
  return encodeURIComponent(value)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(2F|3A|3D|3B|2C|40)/g, (c) => decodeURIComponent(c));
}

function ask(path: string, request: Uint8Array): Promise<{ status: number; body: Uint8Array }> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const socket = connect(path, () => socket.write(request));
    socket.setTimeout(answerMs, () => socket.destroy(new Error('no answer in time')));
    socket.on('error', reject);
    socket.on('data', (piece) => pieces.push(piece));
    socket.on('end', () => {
      const answer = Buffer.concat(pieces);
      const end = answer.indexOf('\r\n\r\n');
      const head = answer.subarray(0, Math.max(end, 0)).toString('latin1');
      const status = /^HTTP\/1\.\d (\d+)/.exec(head)?.[1];
      const length = /\r\ncontent-length:\s*(\d+)/i.exec(head)?.[1];
      const body = answer.subarray(end + 4);
      if (status === undefined || Number(length ?? -1) !== body.byteLength) {
        reject(new Error('the answer broke off'));
      } else resolve({ status: Number(status), body });
    });
  });
}

/** Throws unless the DEL will survive a power cut. */
function remember(folder: string, env: PluginWorld['env'], request: Uint8Array): void {
  const id = env.CNI_CONTAINERID ?? '';
  const ifname = env.CNI_IFNAME ?? '';
  // The name becomes a file's: nothing in it may lead out of the folder.
  for (const name of [id, ifname]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    if (name === '' || name.startsWith('.') || /[/\x00-\x20]/.test(name)) {
      throw new Error('Invalid argument');
    }
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${id}@${ifname}.${process.pid}`);
  try {
    const file = openSync(unfinished, 'w', 0o600);
    try {
      for (let done = 0; done < request.byteLength; ) done += writeSync(file, request, done);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, join(folder, `${id}@${ifname}.del`));
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  const directory = openSync(folder, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
