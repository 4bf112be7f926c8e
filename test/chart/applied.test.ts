/** A real API server accepts what every profile renders with every switch, field by field. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { renderChart } from '../../scripts/chart.mjs';
import { type ApiServer, startApiServer } from '../parts/apiserver.ts';
import { kubectl } from '../parts/kubectl.ts';
import { profiles, switches } from './helm.ts';

let api: ApiServer;

beforeAll(async () => {
  api = await startApiServer();
  await api.call('POST', '/api/v1/namespaces', { metadata: { name: 'network' } });
}, 120_000);
afterAll(() => api?.stop());

const dryRun = ['apply', '--dry-run=server', '--validate=strict'];

/** What is not known to the API server is left out; definitions are the same every time. */
function documentsOf(rendered: string, isFirst: boolean): string[] {
  return parseAllDocuments(rendered)
    .filter((one) => {
      const { apiVersion, kind } = one.toJS() ?? {};
      if (apiVersion === 'monitoring.coreos.com/v1') return false;
      return isFirst || kind !== 'CustomResourceDefinition';
    })
    .map((one) => `---\n${one}`);
}

// All switches at once: kubectl costs more than what it is asked.
test.each(profiles)('profile %s', { timeout: 180_000 }, async (profile) => {
  const documents: string[] = [];
  for (const [name, values] of Object.entries(switches)) {
    const rendered = await renderChart({ ...values, profile });
    documents.push(...documentsOf(rendered, name === 'as shipped'));
  }
  const answer = await kubectl(api, [...dryRun, '-f', '-'], { stdin: documents.join('') });
  expect(answer.stderr).toBe('');
  expect(answer.exitCode).toBe(0);
  expect(answer.stdout.trim().split('\n')).toHaveLength(documents.length);
});

test('kubectl apply -k deploy', { timeout: 120_000 }, async () => {
  const answer = await kubectl(api, [...dryRun, '-k', 'deploy']);
  expect(answer.stderr).toBe('');
  expect(answer.stdout).toContain('daemonset.apps/cadastre-agent created (server dry run)');
  expect(answer.stdout).toContain('deployment.apps/cadastre-operator created (server dry run)');
});
