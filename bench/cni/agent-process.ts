import { spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { askAgent } from '../../src/agent/ask-agent.ts';
import { crds } from '../../src/model/crds.ts';
import type { ApiServer } from '../../test/parts/apiserver.ts';

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** `cadastre agent` as it is shipped, for a node with one block, once it serves. */
export async function startAgent(api: ApiServer, netns: string, podCidr: string) {
  for (const crd of crds) {
    await api.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  }
  await api.call('POST', '/api/v1/nodes', {
    metadata: { name: 'bench' },
    spec: { podCIDR: podCidr, podCIDRs: [podCidr] },
  });
  const socket = join(api.dir, 'agent.sock');
  const env: NodeJS.ProcessEnv = { ...process.env, ...deployedVariables() };
  delete env.NODE_EXTRA_CA_CERTS;
  const child = spawn(
    process.execPath,
    [
      resolve('dist/cadastre.mjs'),
      'agent',
      '--node-name=bench',
      '--ipam=kubernetes',
      `--netns=${netns}`,
      `--kubeconfig=${api.kubeconfigPath}`,
      `--socket=${socket}`,
      `--state-dir=${join(api.dir, 'state')}`,
      '--listen=127.0.0.1:0',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env },
  );
  child.stderr.pipe(createWriteStream(join(api.dir, 'agent.log')));
  const exited = new Promise<void>((done) => child.on('exit', () => done()));
  for (let turn = 0; ; turn++) {
    const status = (await askAgent(socket, 'GET', '/v1/status').catch(() => undefined)) as
      | { agent?: { reason?: string } }
      | undefined;
    if (status?.agent?.reason === 'AgentReady') break;
    if (turn === 600 || child.exitCode !== null) {
      throw new Error(`the agent does not get ready: ${JSON.stringify(status?.agent)}`);
    }
    await sleep(100);
  }
  return {
    socket,
    pid: child.pid!,
    async highestRssMegabytes(withinMs: number): Promise<number> {
      let highest = 0;
      for (let waited = 0; waited < withinMs; waited += 250) {
        const text = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        highest = Math.max(highest, Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) / 1024);
        await sleep(250);
      }
      return highest;
    },
    async stop(): Promise<void> {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** The variables that deploy/agent.yaml gives it. */
function deployedVariables(): Record<string, string> {
  const documents = parseAllDocuments(readFileSync('deploy/agent.yaml', 'utf8'));
  const daemonSet = documents.map((one) => one.toJS()).find(({ kind }) => kind === 'DaemonSet');
  const variables: { name: string; value?: string }[] =
    daemonSet.spec.template.spec.containers[0].env;
  return Object.fromEntries(
    variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}
