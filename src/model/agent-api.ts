/**
 * What the agent's socket takes and answers. One table: the server registers
 * its routes from it, and the OpenAPI document is made from it, so neither can
 * know a route that the other does not.
 */
import * as z from 'zod';
import { logLevels } from '../base/log.ts';

const family = z.enum(['ipv4', 'ipv6']).describe('An address family.');
const owner = z
  .string()
  .min(1)
  .max(512)
  .describe('Who holds the address. The same owner asking again gets the same address.');

export const allocateRequestSchema = z
  .strictObject({
    owner,
    families: z
      .array(family)
      .min(1)
      .max(2)
      .refine((list) => new Set(list).size === list.length, 'a family is named twice')
      .optional()
      .describe('One address of each, all or nothing; every family the node has if left out.'),
    requested: z
      .array(z.string().max(64))
      .max(2)
      .optional()
      .describe('These addresses and no others; at most one of a family.'),
    expirySeconds: z
      .number()
      .positive()
      .max(86_400)
      .optional()
      .describe('Freed again after so long, unless it is claimed before.'),
  })
  .meta({ id: 'AllocateRequest' });

export const claimRequestSchema = z.strictObject({ owner }).meta({ id: 'ClaimRequest' });

export const releaseQuerySchema = z.strictObject({
  owner,
  generation: z.coerce
    .number()
    .int()
    .positive()
    .optional()
    .describe('Refuse if the address was given again since; the generation of the allocation.'),
});

export const allocationSchema = z
  .strictObject({
    owner: z.string(),
    generation: z.int().describe('Never used twice on a node.'),
    addresses: z.array(
      z.strictObject({
        family,
        address: z.string(),
        block: z.string().optional().describe('Absent if the node no longer holds the block.'),
      }),
    ),
    attachment: z
      .strictObject({
        network: z.string(),
        containerId: z.string(),
        ifname: z.string(),
        netns: z.string(),
        pod: z.string().optional().describe('`namespace/name`, where Kubernetes asked.'),
        addressesOnly: z.literal(true).optional().describe('Another plugin made the interface.'),
      })
      .optional()
      .describe('Where the pod is attached, if a CNI runtime asked.'),
    expiresInSeconds: z.number().optional().describe('Absent once claimed.'),
  })
  .meta({ id: 'Allocation' });

export const allocationListSchema = z
  .strictObject({ items: z.array(allocationSchema) })
  .meta({ id: 'AllocationList' });

export const addressStatusSchema = z
  .strictObject({
    lines: z.array(z.string()).describe('`IPv4: 16/254 allocated from 10.5.113.0/24`'),
    shortage: z.string().optional().describe('Why new pods should go elsewhere, if they should.'),
    blocks: z.array(
      z.strictObject({
        cidr: z.string(),
        draining: z.boolean(),
        total: z.string().describe('Without network and last; a string, IPv6 blocks are large.'),
        allocated: z.string().describe('To pods, to the gateway, and reserved.'),
        free: z.string(),
        pods: z.int(),
        resting: z.int().describe('Freed, and in cool-down.'),
      }),
    ),
    agent: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('What the agent says of itself: blocks, routes, sessions.'),
  })
  .meta({ id: 'AddressStatus' });

export const logLevelSchema = z
  .strictObject({ level: z.enum(logLevels).describe('Lines of this level and above are written.') })
  .meta({ id: 'LogLevel' });

export const agentErrorSchema = z
  .strictObject({
    error: z.string().describe('One sentence.'),
    code: z.string().describe('A stable word.'),
    remedy: z.string().describe('What to do about it.'),
    retryAfterSeconds: z.number().optional(),
  })
  .meta({ id: 'Error' });

export type AllocateRequest = z.infer<typeof allocateRequestSchema>;
export type AllocationJson = z.infer<typeof allocationSchema>;
export type AddressStatusJson = z.infer<typeof addressStatusSchema>;
export type AgentErrorJson = z.infer<typeof agentErrorSchema>;

export interface ApiOperation {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{name}` segments, as OpenAPI writes them. */
  path: string;
  summary: string;
  body?: z.ZodType;
  /** A body that is not ours to describe. */
  rawBody?: string;
  query?: z.ZodObject;
  headers?: Readonly<Record<string, string>>;
  answers: Readonly<Record<number, { what: string; schema?: z.ZodType }>>;
}

const bad = { what: 'The request is not understood.', schema: agentErrorSchema };
const notWritten = {
  what: 'It could not be written to disk, and was not done.',
  schema: agentErrorSchema,
};

export const agentOperations = {
  allocate: {
    method: 'POST',
    path: '/v1/addresses',
    summary: 'Allocate addresses for an owner, one family or both, all or nothing.',
    body: allocateRequestSchema,
    answers: {
      200: { what: 'The owner holds them already.', schema: allocationSchema },
      201: { what: 'Allocated, and on disk.', schema: allocationSchema },
      400: bad,
      409: { what: 'Taken, in cool-down, or the owner holds others.', schema: agentErrorSchema },
      422: { what: 'The node cannot give that address or family.', schema: agentErrorSchema },
      503: { what: 'No address is free.', schema: agentErrorSchema },
      507: notWritten,
    },
  },
  list: {
    method: 'GET',
    path: '/v1/addresses',
    summary: 'Every allocation.',
    answers: {
      200: { what: 'All of them.', schema: allocationListSchema },
      507: notWritten,
    },
  },
  claim: {
    method: 'POST',
    path: '/v1/addresses/{address}/claim',
    summary: 'Keep an allocation that would expire.',
    body: claimRequestSchema,
    answers: {
      200: { what: 'It will not expire.', schema: allocationSchema },
      400: bad,
      404: { what: 'Nobody holds it (any more).', schema: agentErrorSchema },
      409: { what: 'Somebody else holds it.', schema: agentErrorSchema },
      507: notWritten,
    },
  },
  release: {
    method: 'DELETE',
    path: '/v1/addresses/{address}',
    summary: 'Free the allocation that the address is of; all its families go.',
    query: releaseQuerySchema,
    answers: {
      200: { what: 'Freed, and on disk.', schema: allocationSchema },
      400: bad,
      404: { what: 'Nobody holds it (any more).', schema: agentErrorSchema },
      409: {
        what: 'Somebody else holds it, or holds it anew, or a pod is attached with it.',
        schema: agentErrorSchema,
      },
      507: notWritten,
    },
  },
  status: {
    method: 'GET',
    path: '/v1/status',
    summary: 'How full the blocks of this node are.',
    answers: { 200: { what: 'The blocks.', schema: addressStatusSchema } },
  },
  logLevel: {
    method: 'GET',
    path: '/v1/log-level',
    summary: "The level of the agent's log.",
    answers: { 200: { what: 'The level.', schema: logLevelSchema } },
  },
  setLogLevel: {
    method: 'PUT',
    path: '/v1/log-level',
    summary: "Change the level of the agent's log until it ends.",
    body: logLevelSchema,
    answers: { 200: { what: 'The level now.', schema: logLevelSchema }, 400: bad },
  },
  openapi: {
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'This document.',
    answers: { 200: { what: 'OpenAPI 3.1.' } },
  },
  cni: {
    method: 'POST',
    path: '/cni',
    summary: 'One call of the CNI plugin: variables as headers, standard input as body.',
    rawBody: 'The network configuration, as the runtime wrote it.',
    headers: {
      'cni-command': 'CNI_COMMAND, percent-encoded; the others likewise.',
      'cni-containerid': 'CNI_CONTAINERID',
      'cni-netns': 'CNI_NETNS',
      'cni-ifname': 'CNI_IFNAME',
      'cni-args': 'CNI_ARGS',
      'cni-path': 'CNI_PATH',
      'cni-plugin': 'The name under which the plugin was called.',
    },
    answers: {
      200: { what: 'Success: print the body, exit 0.' },
      422: { what: 'A CNI error: print the body, exit 1.' },
    },
  },
} as const satisfies Record<string, ApiOperation>;

export type AgentOperation = keyof typeof agentOperations;
