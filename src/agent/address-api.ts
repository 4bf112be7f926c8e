/** The agent's socket: the routes of model/agent-api, put through to the address book. */
import type { Clock } from '../base/clock.ts';
import { CadastreError, describeError } from '../base/errors.ts';
import {
  type HttpAnswer,
  type HttpHandler,
  HttpRefusal,
  type HttpRequest,
  type HttpServer,
} from '../base/http-server.ts';
import type { LogLevelSwitch } from '../base/log.ts';
import {
  type AddressStatusJson,
  type AgentErrorJson,
  type AgentOperation,
  type AllocationJson,
  agentOperations,
  allocateRequestSchema,
  claimRequestSchema,
  logLevelSchema,
  releaseQuerySchema,
} from '../model/agent-api.ts';
import { openApiDocument } from '../model/openapi.ts';
import { type Address, parseAddress } from '../net/address.ts';
import type { Family } from '../net/family.ts';
import { addressRoom } from '../plan/pod-address/address-room.ts';
import { useLines } from '../plan/pod-address/pod-address-demand.ts';
import type { AddressBook } from './address-book.ts';
import type { Allocation } from './allocation.ts';

interface Refusal {
  status: number;
  remedy: string;
}

/** What a word of refusal is in HTTP, and what to do about it. */
const refusals = {
  BadRequest: { status: 400, remedy: 'compare with GET /v1/openapi.json' },
  NotAllocated: { status: 404, remedy: 'nothing to do; GET /v1/addresses shows what is allocated' },
  NotOwner: {
    status: 409,
    remedy: 'only the owner can do this; GET /v1/addresses shows who it is',
  },
  StaleGeneration: { status: 409, remedy: 'drop the request: it is about an older allocation' },
  PodAttached: { status: 409, remedy: 'let the container runtime delete the pod (CNI DEL)' },
  OwnerHoldsOther: { status: 409, remedy: 'release what the owner holds first' },
  AddressTaken: { status: 409, remedy: 'ask for another one, or for any' },
  AddressResting: { status: 409, remedy: 'try again later, or ask for another one' },
  BlockDraining: { status: 409, remedy: 'ask for an address of another block, or for any' },
  AddressOutsideBlocks: { status: 422, remedy: 'GET /v1/status shows the blocks of this node' },
  AddressNotForPods: { status: 422, remedy: 'ask for another one, or for any' },
  FamilyNotServed: { status: 422, remedy: 'give the node a block of that family, or do without' },
  NoFreeAddress: { status: 503, remedy: 'give the node another block, or move pods elsewhere' },
  STATE_NOT_WRITTEN: { status: 507, remedy: 'free space on the disk of the agent, and try again' },
} as const satisfies Record<string, Refusal>;

type RefusalCode = keyof typeof refusals;

/** For what goes wrong before or behind the routes; everything the socket says has a code and a remedy. */
const generalRefusals: Readonly<Record<number, { code: string; remedy: string }>> = {
  404: { code: 'NoSuchPath', remedy: 'GET /v1/openapi.json shows every path' },
  405: { code: 'NoSuchMethod', remedy: 'GET /v1/openapi.json shows what each path takes' },
  413: { code: 'BodyTooLarge', remedy: 'send less; no request needs so much' },
  500: { code: 'Internal', remedy: "see the agent's log" },
};

export function generalRefusal(status: number, error: string): AgentErrorJson {
  const { remedy } = refusals.BadRequest;
  return { error, ...(generalRefusals[status] ?? { code: 'BadRequest', remedy }) };
}

class ApiRefusal extends Error {
  readonly code: RefusalCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: RefusalCode, message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

interface AddressApiOptions {
  book: AddressBook;
  clock: Clock;
  version: string;
  /** POST /cni; see cni/cni-route. */
  cni: HttpHandler;
  /** What GET /v1/status says besides the addresses. */
  agentStatus?: (() => object) | undefined;
  logLevel: LogLevelSwitch;
}

export function addAddressRoutes(server: HttpServer, options: AddressApiOptions): void {
  const { book, clock, version, cni, agentStatus, logLevel } = options;
  const json = (allocation: Allocation) => allocationJson(allocation, book, clock.monotonicMs());
  const held = (address: Address, owner: string): Allocation => {
    const found = book.findByAddress(address);
    if (found === undefined) throw new ApiRefusal('NotAllocated', `nobody holds ${address}`);
    if (found.owner === owner) return found;
    throw new ApiRefusal('NotOwner', `${address} belongs to ${found.owner}, not to ${owner}`);
  };
  // Made when somebody asks for it: it costs more than everything else here together.
  const document = () =>
    openApiDocument(
      {
        title: 'The Cadastre agent',
        version,
        description: 'Pod addresses of one node. Served on a Unix socket that only root can open.',
      },
      agentOperations,
    );

  const handlers: Record<AgentOperation, HttpHandler> = {
    allocate: async (request) => {
      const wish = understand(allocateRequestSchema, await request.json());
      const requested = (wish.requested ?? []).map(readAddress);
      const families = wish.families ?? familiesFor(requested, book);
      checkRequested(requested, families);
      const answer = await book.allocate({
        owner: wish.owner,
        families,
        requested,
        ...(wish.expirySeconds === undefined ? {} : { expiryMs: wish.expirySeconds * 1000 }),
      });
      if (answer.kind === 'refused') {
        throw new ApiRefusal(answer.reason, answer.detail, answer.retryAfterMs);
      }
      return { status: answer.isNew ? 201 : 200, body: json(answer.allocation) };
    },

    list: async () => ({ body: { items: (await book.list()).map(json) } }),

    claim: async (request) => {
      const { owner } = understand(claimRequestSchema, await request.json());
      const address = readAddress(request.params.address ?? '');
      const allocation = held(address, owner);
      if (!(await book.claim(owner))) {
        throw new ApiRefusal('NotAllocated', `${address} has expired`);
      }
      return { body: json(allocation) };
    },

    release: async (request) => {
      const query = understand(releaseQuerySchema, Object.fromEntries(request.query));
      const address = readAddress(request.params.address ?? '');
      const { owner, generation } = query;
      const fence = generation === undefined ? { owner } : { owner, generation };
      const answer = await book.releaseAddress(address, fence);
      if (answer.kind === 'absent') throw new ApiRefusal('NotAllocated', `nobody holds ${address}`);
      if (answer.kind === 'refused') throw new ApiRefusal(answer.reason, answer.detail);
      return { body: json(answer.allocation) };
    },

    status: () => ({ body: { ...statusJson(book), ...(agentStatus && { agent: agentStatus() }) } }),
    ...logLevelHandlers(logLevel),
    openapi: () => ({ body: document() }),
    cni,
  };

  for (const [name, { method, path }] of Object.entries(agentOperations)) {
    const handler = handlers[name as AgentOperation];
    server.on(method, path.replaceAll(/\{(\w+)\}/g, ':$1'), (request) => answer(handler, request));
  }
}

/** On the socket alone, which only root can open: who could set it from afar could fill the disk. */
export function logLevelHandlers(
  log: LogLevelSwitch,
): Record<'logLevel' | 'setLogLevel', HttpHandler> {
  return {
    logLevel: () => ({ body: { level: log.level } }),
    setLogLevel: async (request) => {
      log.level = understand(logLevelSchema, await request.json()).level;
      return { body: { level: log.level } };
    },
  };
}

function statusJson(book: AddressBook): AddressStatusJson {
  const use = book.use();
  const { isFull, detail } = addressRoom(use);
  const shortage = use.length === 0 ? 'this node has no block yet' : detail;
  return {
    lines: useLines(use),
    ...(use.length === 0 || isFull ? { shortage } : {}),
    blocks: use.map(({ prefix, isDraining, total, allocated, free, pods, resting }) => ({
      cidr: prefix.toString(),
      draining: isDraining,
      total: total.toString(),
      allocated: allocated.toString(),
      free: free.toString(),
      pods,
      resting,
    })),
  };
}

function allocationJson(allocation: Allocation, book: AddressBook, nowMs: number): AllocationJson {
  const { owner, generation, addresses, attachment, expiresAtMs } = allocation;
  return {
    owner,
    generation,
    addresses: addresses.map((address) => {
      const block = book.blockOf(address)?.toString();
      const own = { family: address.family, address: address.toString() };
      return block === undefined ? own : { ...own, block };
    }),
    ...(attachment === undefined ? {} : { attachment }),
    ...(expiresAtMs === undefined
      ? {}
      : { expiresInSeconds: Math.max(0, (expiresAtMs - nowMs) / 1000) }),
  };
}

async function answer(handler: HttpHandler, request: HttpRequest): Promise<HttpAnswer> {
  try {
    return await handler(request);
  } catch (error) {
    return refusalAnswer(asRefusal(error));
  }
}

function asRefusal(error: unknown): ApiRefusal {
  if (error instanceof ApiRefusal) return error;
  if (error instanceof HttpRefusal && error.status === 400) {
    return new ApiRefusal('BadRequest', error.message);
  }
  if (error instanceof CadastreError && error.code === 'STATE_NOT_WRITTEN') {
    return new ApiRefusal('STATE_NOT_WRITTEN', describeError(error));
  }
  throw error;
}

function refusalAnswer({ code, message, retryAfterMs }: ApiRefusal): HttpAnswer {
  const { status, remedy } = refusals[code];
  const seconds = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000);
  const body: AgentErrorJson = {
    error: message,
    code,
    remedy,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  };
  return {
    status,
    body,
    ...(seconds === undefined ? {} : { headers: { 'retry-after': String(seconds) } }),
  };
}

/** The part of zod's schemas that is used here. */
interface Schema<T> {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: { issues: Array<{ path: PropertyKey[]; message: string }> } };
}

function understand<T>(schema: Schema<T>, value: unknown): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
  throw new ApiRefusal('BadRequest', problems.join('; '));
}

/** Those of the addresses that are asked for, or all that the node has. */
function familiesFor(requested: readonly Address[], book: AddressBook): Family[] {
  if (requested.length > 0) return [...new Set(requested.map(({ family }) => family))];
  if (book.families.length > 0) return book.families;
  throw new ApiRefusal('NoFreeAddress', 'this node has no block yet');
}

function checkRequested(requested: readonly Address[], families: readonly Family[]): void {
  const asked = new Set<Family>();
  for (const address of requested) {
    if (asked.has(address.family)) {
      throw new ApiRefusal('BadRequest', `requested: two addresses of one family`);
    }
    asked.add(address.family);
    if (!families.includes(address.family)) {
      throw new ApiRefusal('BadRequest', `requested: ${address} is of a family not asked for`);
    }
  }
}

function readAddress(text: string): Address {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw new ApiRefusal('BadRequest', `${JSON.stringify(text)} is not an IPv4 or IPv6 address`);
}
