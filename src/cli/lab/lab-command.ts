import { delimiter } from 'node:path';
import { type Command, Option } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Software } from '../../lab/topology.ts';
import { readWhole } from '../numbers.ts';
import { type Format, plainOutputFlag, printAnswer } from '../output.ts';
import { stopOnSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { registerCluster } from './lab-cluster.ts';
import type { ReplayFlags } from './lab-replay.ts';
import { checkName, chooseLab, openWorld, runForeground } from './lab-world.ts';

/** `cadastre lab …`: a whole site out of network namespaces. */
export function registerLab(program: Command, terminal: Terminal): void {
  const lab = program
    .command('lab')
    .enablePositionalOptions()
    .description('a site of network namespaces with real routers (root, Linux)')
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre lab up incident              # four nodes, two routers, an outside host
  $ cadastre lab status
  $ cadastre lab exec outside -- ping 10.5.113.10
  $ cadastre lab exec control -- kubectl get nodeblocks
  $ cadastre lab replay incident-now
  $ cadastre lab down
  $ cadastre lab cluster up               # a Kubernetes cluster of real kubelets`,
    );
  registerUp(lab, terminal);
  registerStatus(lab, terminal);
  registerExec(lab, terminal);
  registerPod(lab, terminal);
  registerReplay(lab, terminal);
  registerDown(lab, terminal);
  registerCluster(lab, terminal);
  registerParts(lab);
}

/** What the lab itself starts, in its namespaces. */
function registerParts(lab: Command): void {
  const run = async (work: (log: Log, signal: AbortSignal) => Promise<void>) => {
    const { jsonLog } = await import('../../base/json-log.ts');
    const stopping = stopOnSignals();
    await work(jsonLog({ level: 'info', fields: {} }), stopping.signal);
    stopping.done();
  };
  lab
    .command('router', { hidden: true })
    .argument('<folder>')
    .action(async (folder: string) => {
      const { runStandIn } = await import('../../lab/routers/stand-in.ts');
      await run((log, signal) => runStandIn(folder, log, signal));
    });
  lab
    .command('api-server', { hidden: true })
    .argument('<folder>')
    .action(async (folder: string) => {
      const { runEmbeddedApiServer } = await import('../../lab/cluster/api-server.ts');
      await run((log, signal) => runEmbeddedApiServer(folder, log, signal));
    });
}

const nameFlag = () => new Option('--name <lab>', 'which lab (default: the only one there is)');
const apiServerFlag = () =>
  new Option(
    '--api-server <kind>',
    'the real one, or our own (default: real if it is here)',
  ).choices(['real', 'embedded']);
const routersFlag = (of: string) =>
  new Option('--routers <software>', of).choices(['frr', 'bird', 'own']);

function registerUp(lab: Command, terminal: Terminal): void {
  lab
    .command('up')
    .argument('[topology]', 'a shipped one, or the path of a YAML file', 'incident')
    .description('build a site and run the real operator, agents and plugin in it')
    .option('--name <lab>', "the lab's name (default: that of the topology)")
    .addOption(routersFlag('for routers whose topology does not say'))
    .addOption(apiServerFlag())
    .option('--operators <n>', 'how many replicas of the operator', '2')
    .addOption(plainOutputFlag())
    .addHelpText(
      'after',
      `
Shipped: incident, two-racks, pools, dual-stack, spares, by-demand, partition, overlay.
docs/lab.md says how to write your own.

Examples:
  $ cadastre lab up two-racks --routers bird
  $ cadastre lab up ./site.yaml --name mine`,
    )
    .action(async (wanted: string, flags: UpFlags) => {
      const world = openWorld(terminal);
      const { loadTopology } = await import('../../lab/topologies.ts');
      const { bringUp } = await import('../../lab/up.ts');
      const loaded = loadTopology(wanted);
      const { topology } = loaded;
      const name = checkName(flags.name ?? topology.name);
      const operators = readWhole('--operators', flags.operators, 1, 5);
      const options = { name, routers: flags.routers, operators, apiServer: flags.apiServer };
      const { lab: made, times } = await bringUp(world, loaded, options);
      const { folder, pods } = made;
      await made.close();
      await printAnswer(terminal, flags.output, {
        data: { kind: 'LabUp', name, topology: topology.name, folder: folder.path, ...times, pods },
        names: [`lab/${name}`],
        table: () =>
          `lab ${name} is up; cadastre lab status shows it, cadastre lab down removes it\n`,
      });
    });
}

interface UpFlags {
  name?: string;
  routers?: Software;
  operators: string;
  apiServer?: 'real' | 'embedded';
  output: Format;
}

function registerStatus(lab: Command, terminal: Terminal): void {
  lab
    .command('status')
    .argument('[lab]', 'which one (default: the only one there is)')
    .description('every machine of a lab and how it is; what every router holds')
    .addOption(plainOutputFlag())
    .addHelpText('after', `\nExamples:\n  $ cadastre lab status\n  $ cadastre lab status -o json`)
    .action(async (name: string | undefined, flags: { output: Format }) => {
      const world = openWorld(terminal);
      const { listLabs } = await import('../../lab/folder.ts');
      const labs = listLabs(world.root);
      if (name === undefined && labs.length !== 1) {
        await printAnswer(terminal, flags.output, {
          data: { kind: 'LabList', labs },
          names: labs.map((one) => `lab/${one}`),
          table: () =>
            labs.length === 0 ? 'There is no lab here.\n' : `Labs: ${labs.join(', ')}\n`,
        });
        return;
      }
      const { Lab } = await import('../../lab/lab.ts');
      const { readStatus } = await import('../../lab/status.ts');
      const { statusTable } = await import('./lab-status.ts');
      const open = Lab.open(world, await chooseLab(world, name));
      const data = await readStatus(open);
      await open.close();
      const names = [`lab/${open.name}`];
      await printAnswer(terminal, flags.output, {
        data,
        names,
        table: (columns) => statusTable(data, columns),
      });
    });
}

function registerExec(lab: Command, terminal: Terminal): void {
  lab
    .command('exec')
    .argument('<machine>', 'a node, a router, outside, control, or pod-NAME')
    .argument('<command...>')
    .description('a command inside a machine, with cadastre, kubectl and $KUBECONFIG at hand')
    .addOption(nameFlag())
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre lab exec master1 -- ip route
  $ cadastre lab exec control -- cadastre nodes
  $ cadastre lab exec pod-master1-1 -- ping 10.9.25.120`,
    )
    .action(async (machine: string, command: string[], flags: { name?: string }) => {
      const world = openWorld(terminal);
      const { Lab } = await import('../../lab/lab.ts');
      const { hasNamespace, namespacePath } = await import('../../lab/namespaces.ts');
      const open = Lab.open(world, await chooseLab(world, flags.name));
      const namespace = open.namespace(machine);
      if (!hasNamespace(namespace)) {
        const prefix = open.namespace('');
        const machines = open.manifest.namespaces.map((one) => one.slice(prefix.length));
        throw new CadastreError('BAD_USAGE', `the lab ${open.name} has no machine "${machine}"`, {
          remedy: `There are ${machines.join(', ')}.`,
        });
      }
      const socket = open.agentSocket(machine);
      terminal.exitCode = await runForeground(
        ['nsenter', `--net=${namespacePath(namespace)}`, ...command],
        {
          ...terminal.env,
          KUBECONFIG: open.kubeconfigPath,
          CADASTRE_SOCKET: socket,
          PATH: `${open.folder.file('bin')}${delimiter}${terminal.env.PATH ?? ''}`,
        },
      );
    });
}

function registerPod(lab: Command, terminal: Terminal): void {
  lab
    .command('pod')
    .argument('<node>')
    .argument('<pod>', 'its name')
    .description('start a pod on a node, wired by the plugin; or delete it')
    .option('--delete', 'take it away again')
    .addOption(nameFlag())
    .addOption(plainOutputFlag())
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre lab pod master1 web
  $ cadastre lab pod master1 web --delete`,
    )
    .action(async (node: string, pod: string, flags: PodFlags) => {
      const world = openWorld(terminal);
      const { Lab } = await import('../../lab/lab.ts');
      const { addPod, deletePod } = await import('../../lab/pods.ts');
      const open = Lab.open(world, await chooseLab(world, flags.name));
      try {
        if (flags.delete) {
          await deletePod(open, pod);
          terminal.say(`pod ${pod} is gone`);
          return;
        }
        const made = await addPod(open, node, pod);
        await printAnswer(terminal, flags.output, {
          data: made,
          names: [`pod/${pod}`],
          table: () => `${made.addresses.join('\n')}\n`,
        });
      } finally {
        await open.close();
      }
    });
}

interface PodFlags {
  delete?: boolean;
  name?: string;
  output: Format;
}

function registerReplay(lab: Command, terminal: Terminal): void {
  lab
    .command('replay')
    .argument('[story]', 'which one; without it they are listed')
    .description(
      'tell a story with real packets: what happened, what every router held, what was lost',
    )
    .addOption(nameFlag())
    .addOption(routersFlag('of a lab that is made for the story'))
    .addOption(apiServerFlag())
    .option('--patience <seconds>', 'how long a step may take to come to rest', '60')
    .option('--outage <seconds>', 'how long the API server is down in api-down-an-hour', '3600')
    .option('--keep', 'leave the lab that was made for the story')
    .addOption(plainOutputFlag())
    .addHelpText(
      'after',
      `
A lab of the story's topology that is up is used, and brought back to where it was. Without one,
one is made and taken down afterwards. Exit code 1: something was not as expected.

Examples:
  $ cadastre lab replay incident-then
  $ cadastre lab replay rolling-upgrade --routers bird -o json`,
    )
    .action(async (story: string | undefined, flags: ReplayFlags) => {
      const { runReplay } = await import('./lab-replay.ts');
      await runReplay(openWorld(terminal), story, flags, terminal);
    });
}

function registerDown(lab: Command, terminal: Terminal): void {
  lab
    .command('down')
    .argument('[lab]', 'which one (default: the only one there is)')
    .description('remove exactly what a lab made, also after a crash')
    .option('--all', 'every lab of this machine')
    .addHelpText('after', `\nExamples:\n  $ cadastre lab down\n  $ cadastre lab down --all`)
    .action(async (name: string | undefined, flags: { all?: boolean }) => {
      const world = openWorld(terminal);
      const { listLabs } = await import('../../lab/folder.ts');
      const { takeDown } = await import('../../lab/down.ts');
      const labs = listLabs(world.root);
      if (labs.length === 0 && name === undefined) {
        terminal.say('there is no lab here');
        return;
      }
      for (const one of flags.all ? labs : [await chooseLab(world, name)]) {
        const { namespaces, processes } = await takeDown(world.root, one);
        terminal.say(`lab ${one} is gone: ${namespaces} namespaces, ${processes} processes`);
      }
    });
}
