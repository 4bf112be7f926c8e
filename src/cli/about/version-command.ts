import type { Command } from 'commander';
import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { revisionAnnotation } from '../../model/crd.ts';
import { crds } from '../../model/crds.ts';
import { apiVersion } from '../../model/keys.ts';
import type { KubeObject } from '../../model/object.ts';
import { nodeReports, operatorReports } from '../../model/resources.ts';
import { plainOutputFlag, printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import { addClusterFlags, type ViewFlagValues, withClient } from '../view/view-flags.ts';

interface VersionFlags extends ViewFlagValues {
  client?: boolean;
}

/** What the cluster runs; what could not be read is null, and `problems` says why. */
interface ClusterVersions {
  apiServer: string | null;
  operator: { version: string; identity: string; mode: string } | null;
  agents: Array<{ version: string; nodes: number }> | null;
  definitions: Array<{ name: string; revision: number | null; known: number }> | null;
  problems: Array<{ what: string; message: string }>;
}

/** `cadastre version`: this program, and what the cluster runs. */
export function registerVersion(program: Command, terminal: Terminal): void {
  const command = program
    .command('version')
    .description(
      'this program, and what the cluster runs: operator, agents, API server, definitions',
    )
    .option('--client', 'only this program; no cluster is asked')
    .addOption(plainOutputFlag());
  addClusterFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre version
  $ cadastre version --client
  $ cadastre version -o json`,
    )
    .action(async (flags: VersionFlags) => {
      const client = { version: readVersion(), node: process.versions.node };
      const cluster = flags.client
        ? undefined
        : await withClient(flags, terminal, (kube) => versionsOf(kube));
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'Versions', client, ...(cluster && { cluster }) },
        names: [],
        table: (columns) =>
          renderTable(
            ['WHAT', 'VERSION', 'NOTE'],
            [['client', client.version, `Node.js ${client.node}`], ...rowsOf(cluster)],
            columns,
          ),
      });
      for (const { what, message } of cluster?.problems ?? []) {
        terminal.say(`not read: ${what}: ${message}`);
      }
    });
}

async function versionsOf(client: KubeClient): Promise<ClusterVersions> {
  const problems: ClusterVersions['problems'] = [];
  const tried = async <T>(what: string, ask: () => Promise<T>): Promise<T | null> => {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError) || !(error.isForbidden || error.isNotFound)) throw error;
      problems.push({ what, message: error.isForbidden ? 'forbidden' : 'not there' });
      return null;
    }
  };
  const apiServer = (await client.rawGet('/version')) as { gitVersion?: string };
  const [report = null] =
    (await tried('OperatorReport', async () => (await client.list(operatorReports)).items)) ?? [];
  const reports = await tried('NodeReport', async () => (await client.list(nodeReports)).items);
  return {
    apiServer: apiServer.gitVersion ?? null,
    operator: report === null ? null : operatorOf(report as KubeObject),
    agents: reports === null ? null : agentsOf(reports as KubeObject[]),
    definitions: await tried('resource definitions', () => definitionsOf(client)),
    problems,
  };
}

function operatorOf({ spec }: KubeObject): ClusterVersions['operator'] {
  const { version = '', identity = '', mode = '' } = (spec ?? {}) as Record<string, string>;
  return { version, identity, mode };
}

function agentsOf(reports: readonly KubeObject[]): Array<{ version: string; nodes: number }> {
  const counts = new Map<string, number>();
  for (const { status } of reports) {
    const { agentVersion = '' } = (status ?? {}) as { agentVersion?: string };
    counts.set(agentVersion, (counts.get(agentVersion) ?? 0) + 1);
  }
  return [...counts].sort().map(([version, nodes]) => ({ version, nodes }));
}

/** One by one, by name: who may read ours need not be allowed to list everybody's. */
async function definitionsOf(client: KubeClient) {
  const { crdResource } = await import('../../kube/crds.ts');
  const { getIfThere } = await import('../../kube/get-if-there.ts');
  return Promise.all(
    crds.map(async ({ metadata: { name, annotations } }) => {
      const live = await getIfThere<KubeObject>(client, crdResource, name);
      const text = live?.metadata?.annotations?.[revisionAnnotation];
      const revision = text === undefined ? null : Number(text);
      return { name, revision, known: Number(annotations[revisionAnnotation]) };
    }),
  );
}

function rowsOf(cluster: ClusterVersions | undefined): string[][] {
  if (cluster === undefined) return [];
  const { apiServer, operator, agents, definitions } = cluster;
  const others = definitions?.filter(({ revision, known }) => revision !== known) ?? [];
  const note = (all: NonNullable<typeof definitions>) =>
    others.length === 0
      ? `all ${all.length} as this program has them`
      : others
          .map(({ name, revision, known }) => `${name}: ${revision ?? 'none'} (here: ${known})`)
          .join(', ');
  return [
    ['API server', apiServer ?? '-', ''],
    [
      'operator',
      operator?.version || '-',
      operator === null ? 'none has led yet' : `mode ${operator.mode}, ${operator.identity}`,
    ],
    ...(agents === null || agents.length === 0
      ? [['agents', '-', agents === null ? '' : 'none has reported']]
      : agents.map(({ version, nodes }) => [
          'agents',
          version || '-',
          `on ${nodes} ${nodes === 1 ? 'node' : 'nodes'}`,
        ])),
    ['definitions', definitions === null ? '-' : '', definitions === null ? '' : note(definitions)],
  ];
}
