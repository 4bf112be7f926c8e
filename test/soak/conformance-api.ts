/**
 * Kubernetes' own conformance tests of its API machinery, against the embedded
 * API server:
 *
 *   npm run soak -- conformance-api [REGULAR-EXPRESSION]
 *
 * Which tests run, and why others do not, is in conformance-api/selection.json;
 * those that may fail are in conformance-api/expectations.json, each with its
 * reason. Anything else that does not pass fails the run, and so does an
 * expected failure that passes. A whole run writes its figures to
 * docs/apiserver.md; with a regular expression only the tests that match run,
 * and nothing is written.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import { callOn } from '../apiserver/server.ts';
import expectations from './conformance-api/expectations.json' with { type: 'json' };
import selection from './conformance-api/selection.json' with { type: 'json' };
import { writeFigures } from './conformance-api/write-figures.ts';
import { logOf, runE2e } from './e2e/run-e2e.ts';
import { isChosen, type Spec, surprises } from './e2e/specs.ts';

const [only] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), 'cadastre-conformance-'));
const files = join(dir, 'run-');

/** The tests look for a Node that is ready, and run nothing on it; it renews its Lease as a kubelet does. */
async function addNode(api: ApiServer): Promise<NodeJS.Timeout> {
  const metadata = { name: 'node1' };
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' };
  const conditions = [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }];
  const capacity = { cpu: '4', memory: '8Gi', pods: '110' };
  const status = { conditions, capacity, allocatable: capacity };
  const node = { apiVersion: 'v1', kind: 'Node', metadata, status };
  await callOn(api, 'POST', '/api/v1/nodes', node);
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  await callOn(api, 'POST', leases, { metadata, spec: { holderIdentity: 'node1' } });
  return setInterval(() => {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    callOn(api, 'PATCH', `${leases}/node1`, { spec: { renewTime } }).catch((error: unknown) =>
      console.log(`the Lease of the Node was not renewed: ${error}`),
    );
  }, 10_000);
}

const api = await startApiServer({
  dataDir: join(dir, 'cluster'),
  // One of the tests waits for the end of it.
  continueSeconds: 60,
});
let specs: Spec[];
const heartbeat = await addNode(api);
try {
  const all = await runE2e({
    kubeconfig: api.kubeconfigPath,
    focus: only ?? selection.chosen,
    flags: selection.excluded.map(({ tests }) => `--ginkgo.skip=${tests}`),
    files,
  });
  specs = all.filter(
    ({ name, state }) => isChosen(selection, name) && (only === undefined || state !== 'skipped'),
  );
} finally {
  clearInterval(heartbeat);
  await api.stop();
}

for (const { name, state, seconds } of specs) {
  console.log(`${state.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${name}`);
}
const passed = specs.filter(({ state }) => state === 'passed').length;
console.log(`${passed} of ${specs.length} conformance tests passed`);
const wrong =
  only === undefined
    ? surprises(specs, expectations)
    : specs.filter(({ state }) => state !== 'passed').map(({ name, why }) => `${name}: ${why}`);
for (const words of wrong) console.log(`unexpected: ${words}`);
const isRight = wrong.length === 0 && specs.length > 0;
if (isRight && only === undefined) {
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync('test/parts/go/go.mod', 'utf8'));
  writeFigures({ specs, expected: expectations, version: version?.[1] ?? '' });
}
if (isRight) rmSync(dir, { recursive: true, force: true });
else console.log(`the log of the tests: ${logOf({ files })}`);
process.exit(isRight ? 0 : 1);
