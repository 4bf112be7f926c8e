import type { IncomingMessage } from 'node:http';
import { parse } from 'yaml';
import { describeError } from '../../base/errors.ts';
import { ApiRefusal, badRequest } from '../status.ts';
import { unsupportedMedia } from '../verbs/patch.ts';
import { readProtobuf } from './protobuf.ts';

/** The real one's limit for a request. */
const maxBytes = 3 * 1024 * 1024;

export function mediaTypeOf(incoming: IncomingMessage): string {
  return (incoming.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Undefined when nothing was sent. JSON is YAML too, but a hundred times faster to read. */
export async function readBody(incoming: IncomingMessage, media: string): Promise<unknown> {
  const bytes = await readBytes(incoming);
  if (media === 'application/vnd.kubernetes.protobuf') return readProtobuf(bytes);
  const text = bytes.toString('utf8');
  if (text === '') return undefined;
  const isYaml = media.endsWith('yaml');
  if (
    !isYaml &&
    media !== '' &&
    !media.includes('json') &&
    media !== 'application/x-www-form-urlencoded'
  ) {
    throw unsupportedMedia(['application/json', 'application/yaml']);
  }
  if (/^\s*[[{"]/.test(text)) {
    try {
      return JSON.parse(text);
    } catch (error) {
      if (!isYaml) throw unreadable(text, error);
    }
  }
  try {
    return parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw unreadable(text, error);
  }
}

function unreadable(text: string, error: unknown): ApiRefusal {
  return badRequest(
    `the object provided is unrecognized: couldn't get version/kind; json parse error: ${describeError(error)} (${text.slice(0, 40)})`,
  );
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
