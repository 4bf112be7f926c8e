/**
 * What follows from the chart, and the chart from the program: `npm run chart` writes the
 * resource definitions of src/model/crds.ts and the version of package.json into
 * charts/cadastre, and renders the plain manifests of deploy/. test/chart compares.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { stringify } from 'yaml';
import { checkoutDir, isMain, say } from './checkout.mjs';
import { ensureGoTool } from './go-tools.mjs';

const run = promisify(execFile);
export const chartDir = join(checkoutDir, 'charts/cadastre');
const definitionsDir = join(chartDir, 'definitions');

/**
 * Plain manifests. Their operator registers the resource definitions itself: `kubectl apply`
 * knows no order and no upgrade.
 * @type {Record<string, { head: string; values: object; templates: string[] }>}
 */
const manifests = {
  'deploy/crds.yaml': {
    head: `The resource definitions. The operator of operator.yaml registers them itself; these are for
one that is started with --crds=await, and for tools that read definitions.`,
    values: {},
    templates: ['crds'],
  },
  'deploy/operator.yaml': {
    head: `The operator in a cluster: two replicas, one leads. The rights below are all it needs; a test
runs it with exactly these on a real API server.`,
    values: { crds: { managedBy: 'operator' } },
    templates: ['operator-rights', 'operator'],
  },
  'deploy/agent.yaml': {
    head: `The agent on every node. The rights below are all it needs; a test runs it with exactly these
on a real API server.`,
    values: {},
    templates: ['agent-policy', 'agent-rights', 'agent'],
  },
  'deploy/beside-cilium.yaml': {
    head: `The operator beside a Cilium with ipam=kubernetes: it writes blocks to the annotations that
Cilium reads. In place of operator.yaml and agent.yaml.`,
    values: { profile: 'beside-cilium', crds: { managedBy: 'operator' }, bgp: { configMap: '' } },
    templates: ['operator-rights', 'operator'],
  },
  'deploy/announce-only.yaml': {
    head: `Agents beside Cilium's data path: they announce the blocks by BGP and do nothing else. With
beside-cilium.yaml; Cilium itself must announce no pod CIDRs then.`,
    values: { profile: 'beside-cilium', agent: { announceOnly: true }, bgp: { configMap: '' } },
    templates: ['agent-policy', 'agent-rights', 'agent'],
  },
  'deploy/shadow.yaml': {
    head: `The operator in shadow mode: it says what an operator would do, and may write nothing.
The rights below are all it needs; a test runs it with exactly these on a real API server.`,
    values: { profile: 'doctor', console: { enabled: false } },
    templates: ['shadow', 'network-policy'],
  },
  'deploy/console.yaml': {
    head: `The console: it reads, and changes nothing. Reached by
kubectl -n kube-system port-forward deployment/cadastre-console 7077`,
    values: { profile: 'doctor', shadow: { enabled: false } },
    templates: ['console', 'network-policy'],
  },
  'deploy/clean-nodes.yaml': {
    head: `In place of the agents: removes what they left on each node, then idles. Apply it before
agent.yaml is deleted, and wait: kubectl -n kube-system rollout status daemonset/cadastre-agent`,
    values: { uninstall: { cleanNodes: true } },
    templates: ['agent-rights', 'agent'],
  },
  // For test/world/console.test.ts: the operator that serves the console, too.
  'test/world/testdata/operator-with-console.yaml': {
    head: 'The operator with operator.console.enabled.',
    values: { crds: { managedBy: 'operator' }, operator: { console: { enabled: true } } },
    templates: ['operator-rights', 'operator'],
  },
};

/** Every file that is made, by its path in the checkout. @returns {Promise<Map<string, string>>} */
export async function chartFiles() {
  const { version } = JSON.parse(readFileSync(join(checkoutDir, 'package.json'), 'utf8'));
  const chart = readFileSync(join(chartDir, 'Chart.yaml'), 'utf8')
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: ${version}`);
  return new Map([['charts/cadastre/Chart.yaml', chart], ...(await definitionFiles())]);
}

/** Rendered from the chart as it lies there. @returns {Promise<Map<string, string>>} */
export async function manifestFiles() {
  const files = Object.entries(manifests).map(async ([path, { head, values, templates }]) => {
    const text = await renderChart(values, templates);
    return /** @type {[string, string]} */ ([path, `${asComment(head)}\n${text}`]);
  });
  return new Map(await Promise.all(files));
}

/**
 * What `helm template` prints, in the namespace kube-system.
 * @param {object} values @param {string[]} templates only these; all if empty
 */
export async function renderChart(values, templates = []) {
  const helm = join(await ensureGoTool('helm'), 'helm');
  const shown = templates.flatMap((name) => ['--show-only', `templates/${name}.yaml`]);
  const args = ['template', 'cadastre', chartDir, '--namespace', 'kube-system', '--values', '-'];
  const rendering = run(helm, [...args, ...shown], { maxBuffer: 64 * 1024 * 1024 });
  rendering.child.stdin?.end(stringify(values));
  const { stdout } = await rendering;
  return stdout
    .replace(/^# Source: .*\n/gm, '')
    .replace(/^---\n/, '')
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{2,}(?=---\n|$)/g, '\n');
}

async function definitionFiles() {
  const { outputFiles } = await build({
    absWorkingDir: checkoutDir,
    entryPoints: ['src/model/crds.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
  const { crds } = await import(`data:text/javascript;base64,${code}`);
  return crds.map((/** @type {{ metadata: { name: string } }} */ crd) => [
    `charts/cadastre/definitions/${crd.metadata.name}.yaml`,
    `# Made from src/model/crds.ts by \`npm run chart\`.\n${stringify(crd, { aliasDuplicateObjects: false })}`,
  ]);
}

/** @param {string} text */
const asComment = (text) =>
  [...text.split('\n'), 'Rendered from charts/cadastre by `npm run chart`: change it there.']
    .map((line) => `# ${line}`)
    .join('\n');

/** @param {Map<string, string>} files */
function write(files) {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(checkoutDir, path)), { recursive: true });
    writeFileSync(join(checkoutDir, path), text);
  }
}

if (isMain(import.meta.url)) {
  const made = await chartFiles();
  for (const name of readdirSync(definitionsDir)) {
    if (!made.has(`charts/cadastre/definitions/${name}`)) rmSync(join(definitionsDir, name));
  }
  write(made);
  const rendered = await manifestFiles();
  write(rendered);
  say(
    `chart: wrote ${made.size} files of the chart, and rendered ${[...rendered.keys()].join(', ')}`,
  );
}
