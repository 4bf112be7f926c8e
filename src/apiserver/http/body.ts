/** Bodies: how large they may be, and what they say. */
import type { IncomingMessage } from 'node:http';
import { LineCounter } from 'yaml';
import { describeError } from '../../base/errors.ts';
import { readYamlDocument } from '../../base/read-yaml.ts';
import { duplicatesOfJson } from '../duplicate-fields.ts';
import { readProtobuf } from '../protobuf/read-envelope.ts';
import { mustBeFinite, readJson } from '../read-json.ts';
import { ApiRefusal, badRequest } from '../status.ts';
import { unsupportedMedia } from '../verbs/patch.ts';

/** The real one's limit for a request. */
const maxBytes = 3 * 1024 * 1024;

export function mediaTypeOf(incoming: IncomingMessage): string {
  return (incoming.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Undefined when nothing was sent. What it says twice is added to `twice`, if that is asked for. */
export async function readBody(
  incoming: IncomingMessage,
  media: string,
  twice?: string[],
): Promise<unknown> {
  const bytes = await readBytes(incoming);
  if (media === 'application/vnd.kubernetes.protobuf') return readAs(bytes, readProtobuf);
  const text = bytes.toString('utf8');
  if (text === '') return undefined;
  if (media.endsWith('yaml')) return readAs(text, (given) => readYaml(given, twice));
  const isJson =
    media === '' || media.includes('json') || media === 'application/x-www-form-urlencoded';
  if (!isJson) throw unsupportedMedia(['application/json', 'application/yaml']);
  return readAs(text, (given) => readJsonBody(given, twice));
}

function readJsonBody(text: string, twice: string[] | undefined): unknown {
  const value = readJson(text);
  if (twice !== undefined) {
    for (const path of duplicatesOfJson(text)) twice.push(`duplicate field "${path}"`);
  }
  return value;
}

function readAs<T extends string | Buffer>(given: T, read: (given: T) => unknown): unknown {
  try {
    return read(given);
  } catch (error) {
    if (error instanceof ApiRefusal) throw error;
    throw badRequest(
      `the object provided is unrecognized: couldn't get version/kind; json parse error: ${describeError(error)} (${given.toString().slice(0, 40)})`,
    );
  }
}

/** JSON is YAML too, but a hundred times faster to read. */
function readYaml(text: string, twice: string[] | undefined): unknown {
  // JSON's way to write what lies beyond 16 bits is none of YAML's.
  if (/\\u[dD][89a-fA-F]/.test(text)) {
    throw new Error('yaml: found invalid Unicode character escape code');
  }
  if (/^\s*[[{"]/.test(text)) {
    try {
      return readJsonBody(text, twice);
    } catch {
      // YAML, then, with a bracket in front.
    }
  }
  const lines = new LineCounter();
  const { document, value: read } = readYamlDocument(text, lines);
  const [fault] = document.errors;
  if (fault !== undefined) {
    const { line } = lines.linePos(fault.pos[0]);
    if (fault.code === 'DUPLICATE_KEY') {
      const key = JSON.stringify(text.slice(...fault.pos).replaceAll(/["']/g, ''));
      throw new Error(`yaml: unmarshal errors:\n  line ${line}: key ${key} already set in map`);
    }
    throw new Error(`yaml: line ${line}: ${fault.message}`);
  }
  const value = read();
  mustBeFinite(value);
  return value;
}

function readBytes(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        reject(
          new ApiRefusal(
            413,
            'RequestEntityTooLarge',
            `Request entity too large: limit is ${maxBytes}`,
          ),
        );
      }
    });
    incoming.on('error', reject);
    incoming.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
