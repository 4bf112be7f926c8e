import { ApiError } from './api-error.ts';
import { ListScanner } from './list-scanner.ts';

export interface ListReader<Raw> {
  /** The list begins, or begins again: forget what came before. */
  onStart(resourceVersion: string): void;
  onItem(item: Raw): void;
}

/** Reads one page: the query it needs, and where its bytes go. */
export type PageSource = (
  query: Record<string, string>,
  onData: (piece: Buffer) => void,
) => Promise<void>;

export const defaultLimit = 500;
const restartsBeforeWhole = 3;

/**
 * A list from its first page to its last, all of one moment. When that moment
 * leaves the server's memory between two pages (410), or a page of another
 * moment comes, the list begins again; after the third time it is asked for in
 * one piece, which cannot fall apart.
 */
export async function readList<Raw>(
  readPage: PageSource,
  options: { limit?: number | undefined; resourceVersion?: string | undefined },
  reader: ListReader<Raw>,
): Promise<{ resourceVersion: string }> {
  for (let restarts = 0; ; restarts += 1) {
    const limit = restarts < restartsBeforeWhole ? (options.limit ?? defaultLimit) : 0;
    const resourceVersion = await readPages(readPage, limit, options.resourceVersion, reader);
    if (resourceVersion !== undefined) return { resourceVersion };
  }
}

/** Undefined when the pages did not hold together to the end. */
async function readPages<Raw>(
  readPage: PageSource,
  limit: number,
  wanted: string | undefined,
  reader: ListReader<Raw>,
): Promise<string | undefined> {
  let version: string | undefined;
  let token = '';
  for (;;) {
    const isFirst = version === undefined;
    let isForeign = false;
    const scanner = new ListScanner<Raw>(
      (head) => {
        if (isFirst) reader.onStart(head.resourceVersion);
        version ??= head.resourceVersion;
        isForeign = version !== head.resourceVersion;
      },
      (item) => {
        if (!isForeign) reader.onItem(item);
      },
    );
    const query: Record<string, string> = {};
    if (limit > 0) query.limit = String(limit);
    if (token !== '') query.continue = token;
    else if (wanted !== undefined) query.resourceVersion = wanted;
    try {
      await readPage(query, (piece) => scanner.push(piece));
    } catch (error) {
      if (error instanceof ApiError && error.isGone && !isFirst) return undefined;
      throw error;
    }
    const head = scanner.finish();
    if (head === undefined) throw notAList();
    if (isForeign) return undefined;
    token = head.continue;
    if (token === '') return head.resourceVersion;
  }
}

function notAList(): ApiError {
  const detail = 'the answer is not a list with a resourceVersion';
  return new ApiError({ request: 'The list', status: 200, detail });
}
