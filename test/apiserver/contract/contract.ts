/**
 * What a client may rely on, told once and run against both servers. A case
 * that holds on one and not on the other is a fault of ours, or of the case.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../world/eventually.ts';
import { type Server, startServer } from '../server.ts';
import { applyCases } from './apply-cases.ts';
import { customCases } from './custom-cases.ts';
import { deleteCases } from './delete-cases.ts';
import { discoveryCases } from './discovery-cases.ts';
import { hostileCases } from './hostile-cases.ts';
import { kindCases } from './kind-cases.ts';
import { kubectlCases } from './kubectl-cases.ts';
import { kubeletCases } from './kubelet-cases.ts';
import { listCases } from './list-cases.ts';
import { crds, widgetCrd, widgets } from './objects.ts';
import { oddCases } from './odd-cases.ts';
import { patchCases } from './patch-cases.ts';
import { protobufCases } from './protobuf-cases.ts';
import { subresourceCases } from './subresource-cases.ts';
import { watchCases } from './watch-cases.ts';
import { writeCases } from './write-cases.ts';

/** A sentence, and what makes it true. */
export type Cases = Record<string, (server: Server) => Promise<void>>;

const topics: Record<string, Cases> = {
  writing: writeCases,
  protobuf: protobufCases,
  patching: patchCases,
  'server-side apply': applyCases,
  deleting: deleteCases,
  listing: listCases,
  watching: watchCases,
  'custom resources': customCases,
  'built-in kinds': kindCases,
  'what kubelets write': kubeletCases,
  subresources: subresourceCases,
  discovery: discoveryCases,
  'odd requests': oddCases,
  'hostile requests': hostileCases,
  kubectl: kubectlCases,
};

export const caseCount = Object.values(topics).reduce(
  (sum, cases) => sum + Object.keys(cases).length,
  0,
);

/** Registers the cases; gives the server, for more tests beside them. */
export function contract(name: Server['name']): () => Server {
  let server: Server;
  let held = 0;

  beforeAll(async () => {
    server = await startServer(name);
    const { status, body } = await server.call('POST', crds, widgetCrd);
    expect(status, body.message).toBe(201);
    await eventually(async () => {
      expect((await server.call('GET', widgets)).status).toBe(200);
    });
  });

  afterAll(async () => {
    console.log(`contract: ${held} of ${caseCount} cases hold on the ${name} API server`);
    await server?.stop();
  });

  for (const [topic, cases] of Object.entries(topics)) {
    describe(topic, () => {
      for (const [sentence, run] of Object.entries(cases)) {
        test(sentence, async () => {
          await run(server);
          held += 1;
        });
      }
    });
  }
  return () => server;
}
