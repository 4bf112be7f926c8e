import { delimiter, dirname } from 'node:path';
import { type Command, Option } from 'commander';
import type { ApiServerKind } from '../../lab/kubelets/programs.ts';
import type { ClusterStatus } from '../../lab/kubelets/status.ts';
import type { LabWorld } from '../../lab/lab.ts';
import { readWhole } from '../numbers.ts';
import { type Format, plainOutputFlag, printAnswer } from '../output.ts';
import { stopOnSignals } from '../stop-signals.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { checkName, chooseLab, openWorld, runForeground } from './lab-world.ts';

/** `cadastre lab cluster …`: real kubelets, and no pod network yet. */
export function registerCluster(lab: Command, terminal: Terminal): void {
  const cluster = lab
    .command('cluster')
    .enablePositionalOptions()
    .description('a Kubernetes cluster of real kubelets, containerd and an FRR router')
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre lab cluster up
  $ export KUBECONFIG=/var/lib/cadastre-lab/lab/kubeconfig
  $ kubectl get nodes
  $ cadastre lab cluster status
  $ cadastre lab cluster exec router -- ip route
  $ cadastre lab cluster down`,
    );
  registerUp(cluster, terminal);
  registerStatus(cluster, terminal);
  registerExec(cluster, terminal);
  registerDown(cluster, terminal);
  cluster
    .command('api-server', { hidden: true })
    .argument('<folder>')
    .action(async (folder: string) => {
      const { runEmbeddedApiServer } = await import('../../lab/kubelets/embedded-api-server.ts');
      const { jsonLog } = await import('../../base/json-log.ts');
      const stopping = stopOnSignals();
      const log = jsonLog({ level: 'info', fields: {} });
      await runEmbeddedApiServer(folder, log, stopping.signal);
      stopping.done();
    });
  cluster
    .command('forward', { hidden: true })
    .argument('<namespace>')
    .argument('<port-file>')
    .action(async (outside: string, portFile: string) => {
      const { forwardApiServer } = await import('../../lab/kubelets/forward.ts');
      const stopping = stopOnSignals();
      await forwardApiServer(outside, portFile, stopping.signal);
      stopping.done();
    });
}

interface UpFlags {
  name: string;
  nodes: string;
  containerd: '1' | '2' | 'both';
  image: string[];
  apiServer: ApiServerKind;
  output: Format;
}

function registerUp(cluster: Command, terminal: Terminal): void {
  cluster
    .command('up')
    .description('start a control plane, a router and nodes; they wait for a pod network')
    .option('--name <cluster>', "the cluster's name", 'lab')
    .option('--nodes <n>', 'how many nodes', '3')
    .addOption(
      new Option('--containerd <version>', 'of the nodes; both: node1 has 1, the others 2')
        .choices(['1', '2', 'both'])
        .default('both'),
    )
    .option(
      '--image <file>',
      'an image as an OCI or Docker archive, for every node; repeat it for more',
      (file: string, others: string[]) => [...others, file],
      [],
    )
    .addOption(
      new Option('--api-server <kind>', 'kube-apiserver on etcd, or our own')
        .choices(['real', 'embedded'])
        .default('real'),
    )
    .addOption(plainOutputFlag())
    .addHelpText(
      'after',
      `
Nothing can be pulled: nodes have the images of pause, agnhost and busybox, and those of --image.

Examples:
  $ cadastre lab cluster up
  $ cadastre lab cluster up --name old --nodes 1 --containerd 1
  $ cadastre lab cluster up --image cadastre.tar
  $ cadastre lab cluster up --nodes 1 --api-server embedded`,
    )
    .action(async (flags: UpFlags) => {
      const world = openClusters(terminal);
      const name = checkName(flags.name);
      const nodes = readWhole('--nodes', flags.nodes, 1, 20);
      const isFirst = (at: number) =>
        flags.containerd === '1' || (flags.containerd === 'both' && at === 0);
      const containerds = Array.from({ length: nodes }, (_, at) => (isFirst(at) ? 1 : 2));
      const { bringUpCluster } = await import('../../lab/kubelets/up.ts');
      const { image: images, apiServer } = flags;
      const options = { name, containerds, images, apiServer };
      const { cluster: made, seconds } = await bringUpCluster(world, options);
      const { kubeconfigPath: kubeconfig, nodeNames, folder } = made;
      await printAnswer(terminal, flags.output, {
        data: {
          kind: 'LabClusterUp',
          name,
          folder: folder.path,
          kubeconfig,
          nodes: nodeNames,
          seconds,
        },
        names: [`cluster/${name}`],
        table: () =>
          `cluster ${name} is up; its nodes become Ready when a pod network is installed:\n` +
          `  export KUBECONFIG=${kubeconfig}\n` +
          '  helm install cadastre charts/cadastre --namespace kube-system\n' +
          `cadastre lab cluster status ${name} shows it, cadastre lab cluster down ${name} removes it\n`,
      });
    });
}

function registerStatus(cluster: Command, terminal: Terminal): void {
  cluster
    .command('status')
    .argument('[cluster]', 'which one (default: the only one there is)')
    .description("nodes, their containerd and pods, and the router's sessions")
    .addOption(plainOutputFlag())
    .addHelpText('after', '\nExamples:\n  $ cadastre lab cluster status -o json')
    .action(async (wanted: string | undefined, flags: { output: Format }) => {
      const world = openClusters(terminal);
      const { listLabs } = await import('../../lab/folder.ts');
      const clusters = listLabs(world.root);
      if (wanted === undefined && clusters.length !== 1) {
        await printAnswer(terminal, flags.output, {
          data: { kind: 'LabClusterList', clusters },
          names: clusters.map((one) => `cluster/${one}`),
          table: () =>
            clusters.length === 0
              ? 'There is no cluster here.\n'
              : `Clusters: ${clusters.join(', ')}\n`,
        });
        return;
      }
      const { KubeletCluster } = await import('../../lab/kubelets/cluster.ts');
      const { readClusterStatus } = await import('../../lab/kubelets/status.ts');
      const name = await chooseLab(world, wanted, 'cluster');
      const data = await readClusterStatus(KubeletCluster.open(world, name));
      await printAnswer(terminal, flags.output, {
        data,
        names: [`cluster/${name}`],
        table: (columns) => statusTable(data, columns),
      });
    });
}

function statusTable(status: ClusterStatus, columns: number): string {
  const { name, isUp, folder, kubeconfig, stopped, apiServer, nodes, router } = status;
  return [
    `Cluster ${name}${isUp ? '' : ', not up: see cadastre lab cluster down'}\n` +
      `  folder       ${folder}\n` +
      `  kubeconfig   ${kubeconfig}\n` +
      `  API server   ${apiServer}\n` +
      `  not running  ${stopped.join(', ') || '-'}\n`,
    renderTable(
      ['NODE', 'ADDRESS', 'CONTAINERD', 'PODS', 'STATE'],
      nodes.map((node) => [
        node.name,
        node.addresses.join(' '),
        node.containerd,
        `${node.pods.running}/${node.pods.all}`,
        node.isReady ? 'Ready' : `NotReady: ${node.detail}`,
      ]),
      columns,
    ),
    renderTable(
      ['ROUTER', 'AS', 'PEER', 'PEER AS', 'STATE', 'PREFIXES'],
      router.sessions.length === 0
        ? [[router.address, String(router.asn), '-', '-', 'no session', '-']]
        : router.sessions.map(({ peer, asn, state, prefixes }, at) => [
            ...(at === 0 ? [router.address, String(router.asn)] : ['', '']),
            ...[peer, String(asn), state, String(prefixes)],
          ]),
      columns,
    ),
  ].join('\n');
}

function registerExec(cluster: Command, terminal: Terminal): void {
  cluster
    .command('exec')
    .argument('<machine>', 'a node, router or control')
    .argument('<command...>')
    .description('a command inside a machine; in control and router with kubectl and $KUBECONFIG')
    .option('--name <cluster>', 'which cluster (default: the only one there is)')
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre lab cluster exec node1 -- ip route
  $ cadastre lab cluster exec router -- curl http://10.5.112.2:8080/hostname`,
    )
    .action(async (machine: string, command: string[], flags: { name?: string }) => {
      const world = openClusters(terminal);
      const { KubeletCluster } = await import('../../lab/kubelets/cluster.ts');
      const open = KubeletCluster.open(world, await chooseLab(world, flags.name, 'cluster'));
      const kubectl = dirname(open.programs.path('kubectl'));
      terminal.exitCode = await runForeground(open.commandLine(machine, command), {
        ...terminal.env,
        KUBECONFIG: open.insideKubeconfigPath,
        PATH: `${terminal.env.PATH ?? ''}${delimiter}${kubectl}`,
      });
    });
}

function registerDown(cluster: Command, terminal: Terminal): void {
  cluster
    .command('down')
    .argument('[cluster]', 'which one (default: the only one there is)')
    .description('remove exactly what a cluster made, also after a crash')
    .option('--all', 'every cluster of this machine')
    .addHelpText(
      'after',
      '\nExamples:\n  $ cadastre lab cluster down\n  $ cadastre lab cluster down --all',
    )
    .action(async (wanted: string | undefined, flags: { all?: boolean }) => {
      const world = openClusters(terminal);
      const { listLabs } = await import('../../lab/folder.ts');
      const { takeDownCluster } = await import('../../lab/kubelets/down.ts');
      const clusters = listLabs(world.root);
      if (clusters.length === 0 && wanted === undefined) {
        terminal.say('there is no cluster here');
        return;
      }
      for (const name of flags.all ? clusters : [await chooseLab(world, wanted, 'cluster')]) {
        const { namespaces, processes, cgroups } = await takeDownCluster(world.root, name);
        terminal.say(
          `cluster ${name} is gone: ${namespaces} namespaces, ${processes} processes, ${cgroups} cgroups`,
        );
      }
    });
}

/** On the disk: images and etcd are too much for a /run in memory. */
function openClusters(terminal: Terminal): LabWorld {
  return {
    ...openWorld(terminal),
    root: terminal.env.CADASTRE_CLUSTERS ?? '/var/lib/cadastre-lab',
  };
}
