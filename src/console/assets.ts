/** The page and what it loads, built into a folder beside the program (scripts/build.mjs). */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { CadastreError } from '../base/errors.ts';
import type { HttpAnswer, HttpRequest } from '../base/http-server.ts';

const types: Record<string, string> = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
};

interface Asset {
  plain: Buffer;
  packed: Buffer;
  etag: string;
}

export class Assets {
  readonly #assets = new Map<string, Asset>();

  constructor(folder = findFolder()) {
    for (const name of Object.keys(types)) {
      const plain = readFileSync(join(folder, name));
      const etag = `"${createHash('sha256').update(plain).digest('hex').slice(0, 16)}"`;
      this.#assets.set(name, { plain, packed: gzipSync(plain), etag });
    }
  }

  answer(name: string, request: HttpRequest): HttpAnswer {
    const asset = this.#assets.get(name);
    if (asset === undefined) return { status: 404, body: { error: `no such file: ${name}` } };
    const { plain, packed, etag } = asset;
    // Asked each time whether it is still the same: a new version is seen at once.
    const headers = { etag, 'cache-control': 'no-cache', vary: 'accept-encoding' };
    if (request.headers['if-none-match'] === etag) return { status: 304, headers };
    const contentType = types[name] ?? '';
    if (!acceptsGzip(request)) return { contentType, headers, body: plain };
    return { contentType, headers: { ...headers, 'content-encoding': 'gzip' }, body: packed };
  }
}

export function acceptsGzip({ headers }: HttpRequest): boolean {
  return /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
}

/** Beside the built program, or in the checkout's dist when run from source. */
function findFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [
    join(here, 'console'),
    join(here, '../../dist/console'),
    join(here, '../console'),
  ];
  const found = places.find((place) => existsSync(join(place, 'index.html')));
  if (found !== undefined) return found;
  throw new CadastreError('BAD_INPUT', `the console's page is not in ${places[0]}`, {
    remedy: 'Run npm run build, or keep the folder console beside cadastre.mjs.',
  });
}
