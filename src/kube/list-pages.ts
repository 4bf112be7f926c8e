import { ApiError } from './api-error.ts';
import { type ListHead, ListScanner } from './list-scanner.ts';
import { type Decode, isProtobuf } from './protobuf/envelope.ts';
import { ProtobufListScanner } from './protobuf/list-scanner.ts';

export interface ListReader<Raw> {
  /** The list begins, or begins again: forget what came before. */
  onStart(resourceVersion: string): void;
  onItem(item: Raw): void;
}

/** Reads one page: the query it needs, and where its bytes go. */
type PageSource = (query: Record<string, string>, sink: PageSink) => Promise<void>;

interface PageSink {
  onStart(contentType: string): void;
  onData(piece: Buffer): void;
}

interface ReadListOptions<Raw> {
  limit?: number | undefined;
  resourceVersion?: string | undefined;
  /** For answers in protobuf. */
  decode?: Decode<Raw> | undefined;
}

const defaultLimit = 500;
const restartsBeforeWhole = 3;

/**
 * A list from its first page to its last, all of one moment. When that moment
 * leaves the server's memory between two pages (410), or a page of another
 * moment comes, the list begins again; after the third time it is asked for in
 * one piece, which cannot fall apart.
 */
export async function readList<Raw>(
  readPage: PageSource,
  options: ReadListOptions<Raw>,
  reader: ListReader<Raw>,
): Promise<{ resourceVersion: string }> {
  for (let restarts = 0; ; restarts += 1) {
    const limit = restarts < restartsBeforeWhole ? (options.limit ?? defaultLimit) : 0;
    const resourceVersion = await readPages(readPage, limit, options, reader);
    if (resourceVersion !== undefined) return { resourceVersion };
  }
}

/** Undefined when the pages did not hold together to the end. */
async function readPages<Raw>(
  readPage: PageSource,
  limit: number,
  { resourceVersion: wanted, decode }: ReadListOptions<Raw>,
  reader: ListReader<Raw>,
): Promise<string | undefined> {
  let version: string | undefined;
  let token = '';
  for (;;) {
    const isFirst = version === undefined;
    let isForeign = false;
    const onHead = (head: ListHead) => {
      if (isFirst) reader.onStart(head.resourceVersion);
      version ??= head.resourceVersion;
      isForeign = version !== head.resourceVersion;
    };
    const onItem = (item: Raw) => {
      if (!isForeign) reader.onItem(item);
    };
    let scanner: ListScanner<Raw> | ProtobufListScanner<Raw> = new ListScanner(onHead, onItem);
    const query: Record<string, string> = {};
    if (limit > 0) query.limit = String(limit);
    if (token !== '') query.continue = token;
    else if (wanted !== undefined) query.resourceVersion = wanted;
    try {
      await readPage(query, {
        onStart: (contentType) => {
          if (decode === undefined || !isProtobuf(contentType)) return;
          scanner = new ProtobufListScanner(decode, onHead, onItem);
        },
        onData: (piece) => scanner.push(piece),
      });
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
