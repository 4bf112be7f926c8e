import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { type Command, Option } from 'commander';
import { type CniVersion, supportedVersions } from '../../agent/cni/cni-call.ts';
import { type CniInstallation, installCni } from '../../agent/install/install-cni.ts';
import { uninstall } from '../../agent/install/uninstall.ts';
import { CadastreError } from '../../base/errors.ts';
import { agentSocketPath, apiVersion } from '../../model/keys.ts';
import { type Format, plainOutputFlag, printAnswer } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { addClusterFlags, withClient } from '../view/view-flags.ts';
import { openKernel } from './agent-kernel.ts';

/** `cadastre cni`: the plugin on this node, and its network configuration. */
export function registerCni(program: Command, terminal: Terminal): void {
  const cni = program
    .command('cni')
    .description(
      'put the CNI plugin and its network configuration on this node, or remove what is left of them',
    )
    .addHelpText(
      'after',
      `\nExamples:\n  $ cadastre cni install --bin-dir /opt/cni/bin --conf-dir /etc/cni/net.d\n  $ cadastre cni uninstall --help`,
    );
  addFolders(cni.command('install'))
    .description('install the plugin and the network configuration, or bring both up to date')
    .addOption(
      new Option(
        '--cni-version <version>',
        'the only version that the configuration names (default: what portmap and the runtime know)',
      ).choices([...supportedVersions]),
    )
    .option('--ipam-only', 'no configuration: another plugin names this one as ipam.type')
    .option('--plugin <file>', 'the plugin to install (default: the one that comes with cadastre)')
    .addOption(plainOutputFlag())
    .addHelpText(
      'after',
      `
A configuration that somebody edited is kept. portmap, for hostPorts, is in the chain if
it is in the folder of plugins.

Examples:
  $ cadastre cni install --bin-dir /opt/cni/bin --conf-dir /etc/cni/net.d
  $ cadastre cni install --bin-dir /opt/cni/bin --conf-dir /etc/cni/net.d --ipam-only`,
    )
    .action((flags: InstallFlags) => runInstall(flags, terminal));
  const uninstallation = addFolders(cni.command('uninstall'))
    .description('remove what an agent that was installed here has left; pods that run go on')
    .option('--node-name <name>', 'the Node this is (default: $NODE_NAME, the host name)')
    .option('--socket <path>', 'the socket of the agent', agentSocketPath)
    .option('--state-dir <path>', 'the state folder of the agent', '/var/lib/cadastre')
    .option('--state', 'remove the state folder, too; refused while pods have addresses of it')
    .option('--netns <path>', "the node's network namespace (default: where this runs)")
    .addOption(plainOutputFlag());
  addClusterFlags(uninstallation)
    .addHelpText(
      'after',
      `
It needs what the agent needs: its rights in the cluster and on the machine. Stop the
agent first. What is gone already is passed over.
Exit code: 0 if nothing is left, 1 if something could not be removed.

Examples:
  $ cadastre cni uninstall --bin-dir /opt/cni/bin --conf-dir /etc/cni/net.d`,
    )
    .action((flags: UninstallFlags) => runUninstall(flags, terminal));
}

interface UninstallFlags {
  binDir: string;
  confDir: string;
  nodeName?: string;
  socket: string;
  stateDir: string;
  state?: boolean;
  netns?: string;
  kubeconfig?: string;
  context?: string;
  output: Format;
}

interface InstallFlags {
  binDir: string;
  confDir: string;
  cniVersion?: CniVersion;
  ipamOnly?: boolean;
  plugin?: string;
  output: Format;
}

function addFolders(command: Command): Command {
  return command
    .requiredOption('--bin-dir <folder>', 'where the runtime finds plugins, like /opt/cni/bin')
    .requiredOption('--conf-dir <folder>', 'where it finds networks, like /etc/cni/net.d');
}

function conflistLine({ path, outcome }: CniInstallation['conflist'], choice?: string): string[] {
  if (outcome === 'none') return [];
  if (outcome === 'kept') return [`kept ${path}: it was edited`];
  if (outcome === 'removed') return [`removed ${path}: another plugin has the configuration`];
  return [`${outcome} ${path}: ${choice}`];
}

async function runInstall(flags: InstallFlags, terminal: Terminal): Promise<void> {
  const { binDir, confDir, cniVersion, ipamOnly } = flags;
  const source = flags.plugin ?? shippedPlugin();
  const done = await installCni({ source, binDir, confDir, cniVersion, ipamOnly });
  const { conflist, choice, hiddenBy } = done;
  if (hiddenBy !== undefined) {
    terminal.say(`the runtime uses ${hiddenBy}, because it sorts before ${conflist.path}`);
  }
  const lines = [`installed ${done.plugin}`, ...conflistLine(conflist, choice)];
  await printAnswer(terminal, flags.output, {
    data: { apiVersion, kind: 'CniInstallation', ...done },
    names: [],
    table: () => `${lines.join('\n')}\n`,
  });
}

async function runUninstall(flags: UninstallFlags, terminal: Terminal): Promise<void> {
  const kernel = openKernel('netlink', [], flags.stateDir, { netnsPath: flags.netns });
  try {
    const done = await uninstall({
      binDir: flags.binDir,
      confDir: flags.confDir,
      socketPath: flags.socket,
      stateFolder: flags.stateDir,
      withState: flags.state === true,
      nodeName: (flags.nodeName ?? terminal.env.NODE_NAME ?? hostname()).toLowerCase(),
      kernel,
      withClient: (use) => withClient(flags, terminal, use),
    });
    for (const problem of done.problems) terminal.say(`cadastre: ${problem}`);
    if (done.problems.length > 0) terminal.exitCode = 1;
    const lines = [
      ...done.removed.map((what) => `removed ${what}`),
      ...done.kept.map((what) => `kept ${what}`),
    ];
    await printAnswer(terminal, flags.output, {
      data: { apiVersion, kind: 'CniUninstallation', ...done },
      names: [],
      table: () => (lines.length === 0 ? 'nothing to remove\n' : `${lines.join('\n')}\n`),
    });
  } finally {
    kernel.close();
  }
}

/** An image has it in `cni/`, beside the folder of the program. */
function shippedPlugin(from: string = import.meta.dirname): string {
  for (let dir = from; ; dir = dirname(dir)) {
    const path = join(dir, 'cni/cadastre');
    if (existsSync(path)) return path;
    if (dirname(dir) === dir) break;
  }
  throw new CadastreError('BAD_FLAG', 'the CNI plugin does not come with this copy of cadastre', {
    remedy: 'Build it with node scripts/shim.mjs, and name the file with --plugin.',
  });
}
