/** Bodies: how large and how deep they may be, and what they say. */
import type { IncomingMessage } from 'node:http';
import { LineCounter } from 'yaml';
import { describeError } from '../../base/errors.ts';
import { readYamlDocument } from '../../base/read-yaml.ts';
import { isFields } from '../object.ts';
import { ApiRefusal, badRequest } from '../status.ts';
import { unsupportedMedia } from '../verbs/patch.ts';
import { readProtobuf } from './protobuf.ts';

/** The real one's limit for a request. */
const maxBytes = 3 * 1024 * 1024;
/** The real one takes 10,000; everything here that walks an object needs stack for each. */
const maxDepth = 1_000;

export function mediaTypeOf(incoming: IncomingMessage): string {
  return (incoming.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Undefined when nothing was sent. */
export async function readBody(incoming: IncomingMessage, media: string): Promise<unknown> {
  const bytes = await readBytes(incoming);
  if (media === 'application/vnd.kubernetes.protobuf') return readAs(bytes, readProtobuf);
  const text = bytes.toString('utf8');
  if (text === '') return undefined;
  if (media.endsWith('yaml')) return readAs(text, readYaml);
  const isJson =
    media === '' || media.includes('json') || media === 'application/x-www-form-urlencoded';
  if (!isJson) throw unsupportedMedia(['application/json', 'application/yaml']);
  return readAs(text, readJson);
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

function readJson(text: string): unknown {
  mustBeShallow(text);
  const value: unknown = JSON.parse(text);
  // An exponent or a very long number: the only ways beyond a double.
  if (/\d[eE]\+?\d{3}|\d{300}/.test(text)) mustBeFinite(value);
  return value;
}

/** JSON is YAML too, but a hundred times faster to read. */
function readYaml(text: string): unknown {
  // JSON's way to write what lies beyond 16 bits is none of YAML's.
  if (/\\u[dD][89a-fA-F]/.test(text)) {
    throw new Error('yaml: found invalid Unicode character escape code');
  }
  if (/^\s*[[{"]/.test(text)) {
    try {
      return readJson(text);
    } catch {
      // YAML, then, with a bracket in front.
    }
  }
  const lines = new LineCounter();
  const { document, value: read } = readYamlDocument(text, lines);
  const [fault] = document.errors;
  if (fault !== undefined) {
    throw new Error(`yaml: line ${lines.linePos(fault.pos[0]).line}: ${fault.message}`);
  }
  const value = read();
  mustBeFinite(value);
  return value;
}

/** By the brackets that are open outside of strings. */
function mustBeShallow(text: string): void {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isString = !isString;
    else if (code === 0x5c && isString) at += 1;
    else if (isString) continue;
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > maxDepth) throw new Error(`invalid character '${text[at]}' exceeded max depth`);
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
}

function mustBeFinite(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new Error('json: cannot unmarshal number into Go value of type float64');
  }
  if (Array.isArray(value)) for (const each of value) mustBeFinite(each);
  else if (isFields(value)) for (const each of Object.values(value)) mustBeFinite(each);
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
