import { conditions, type Schema } from './crd.ts';

/** What the agent saw; see node-report-status.ts for the words. */
const text = (maxLength = 253): Schema => ({ type: 'string', maxLength });
const count: Schema = { type: 'integer', format: 'int64', minimum: 0 };
const list = (maxItems: number, items: Schema): Schema => ({
  type: 'array',
  maxItems,
  'x-kubernetes-list-type': 'atomic',
  items,
});
const object = (required: string[], properties: Record<string, Schema>): Schema => ({
  type: 'object',
  ...(required.length > 0 ? { required } : {}),
  properties,
});

export const maxReported = 1024;

export const nodeReportStatus: Schema = {
  type: 'object',
  properties: {
    agentVersion: text(64),
    /** Since when this run of the agent holds. */
    startedAt: { type: 'string', format: 'date-time' },
    blocks: list(
      maxReported,
      object(['cidr'], {
        cidr: text(43),
        pool: text(),
        draining: { type: 'boolean' },
        pods: count,
        resting: count,
        total: text(40),
      }),
    ),
    kernel: object([], {
      wanted: count,
      held: count,
      repaired: count,
      ownRoutes: list(maxReported, text(43)),
      refused: list(
        maxReported,
        object(['route', 'reason'], { route: text(), reason: text(1024) }),
      ),
    }),
    sessions: list(
      256,
      object(['peer', 'address', 'state'], {
        peer: text(),
        address: text(45),
        asn: count,
        localAsn: count,
        state: text(32),
        establishedAt: { type: 'string', format: 'date-time' },
        families: list(
          2,
          object(['family'], { family: text(4), received: count, advertised: count }),
        ),
        lastError: text(1024),
        announced: list(
          maxReported,
          object(['prefix'], {
            prefix: text(43),
            nextHop: text(45),
            since: { type: 'string', format: 'date-time' },
            attributes: text(1024),
          }),
        ),
      }),
    ),
    unannounced: list(
      maxReported,
      object(['cidr', 'reason', 'detail'], {
        cidr: text(43),
        peer: text(),
        reason: text(64),
        detail: text(1024),
      }),
    ),
    drain: object([], {
      steps: list(
        8,
        object(['step', 'at'], {
          step: text(32),
          at: { type: 'string', format: 'date-time' },
          detail: text(1024),
        }),
      ),
    }),
    findings: list(
      maxReported,
      object(['reason', 'detail'], { reason: text(64), cidr: text(43), detail: text(1024) }),
    ),
    conditions,
  },
};
