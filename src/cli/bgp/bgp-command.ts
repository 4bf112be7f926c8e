import { type Command, Option } from 'commander';
import { jsonLog, type LogLevel, logLevels } from '../../base/json-log.ts';
import { stopOnSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { registerBgpPeers } from './bgp-peers-command.ts';
import { registerBgpRoutes } from './bgp-routes-command.ts';
import type { TextOutput } from './text-output.ts';

/** `cadastre bgp …`: what nodes advertise to their routers; and the speaker and the codec by themselves. */
export function registerBgp(program: Command, terminal: Terminal): void {
  const bgp = program
    .command('bgp')
    .description('BGP sessions and routes; decode BGP messages, run a BGP speaker')
    .addHelpText(
      'after',
      `\nExamples:\n  $ cadastre bgp peers\n  $ cadastre bgp routes --node node1`,
    );
  registerBgpPeers(bgp, terminal);
  registerBgpRoutes(bgp, terminal);
  registerDecode(bgp, terminal);
  registerSpeak(bgp, terminal);
}

function registerDecode(bgp: Command, terminal: Terminal): void {
  bgp
    .command('decode')
    .description('a BGP message as JSON')
    .argument('<hex>', 'the whole message in hex; - reads one a line from stdin')
    .option('--as2', 'AS numbers have two octets (default: four)')
    .option('--add-path', 'prefixes carry path identifiers')
    .addOption(new Option('--ibgp', 'received over iBGP').conflicts('ebgp'))
    .addOption(new Option('--ebgp', 'received over eBGP (the default)'))
    .addHelpText(
      'after',
      `
What RFC 7606 tolerates is listed in "errors" beside what is left of the message;
what ends a session is {"error": …} with the NOTIFICATION it becomes.

Examples:
  $ cadastre bgp decode ffffffffffffffffffffffffffffffff001304
  $ cadastre bgp decode --ibgp - < messages.hex`,
    )
    .action(async (hex: string, flags: { as2?: true; addPath?: true; ibgp?: true }) => {
      const { runBgpDecode } = await import('./bgp-decode.ts');
      const args = { hex, as2: !!flags.as2, addPath: !!flags.addPath, ibgp: !!flags.ibgp };
      const io = { stdin: process.stdin, ...outputsOf(terminal) };
      terminal.exitCode = await runBgpDecode(args, io);
    });
}

function registerSpeak(bgp: Command, terminal: Terminal): void {
  bgp
    .command('speak')
    .description('run a BGP speaker from a file: for labs and router teams')
    .requiredOption('--config <file>', 'peers and announcements, in YAML')
    .addOption(
      new Option(
        '--exit <how>',
        'on SIGTERM: withdraw the routes, or leave them for a graceful restart',
      )
        .choices(['drain', 'restart'])
        .default('drain'),
    )
    .addOption(new Option('--log-level <level>').choices([...logLevels]).default('info'))
    .addHelpText(
      'after',
      `
SIGHUP reads the file again; SIGUSR1 prints the state of all peers as JSON.

Examples:
  $ cadastre bgp speak --config speaker.yaml`,
    )
    .action(async (flags: { config: string; exit: 'drain' | 'restart'; logLevel: LogLevel }) => {
      const { runBgpSpeak } = await import('./bgp-speak.ts');
      const stopping = stopOnSignals();
      const log = jsonLog({ level: flags.logLevel, fields: { component: 'speaker' } });
      const args = { config: flags.config, exit: flags.exit };
      const io = { ...outputsOf(terminal), log };
      terminal.exitCode = await runBgpSpeak(args, io, stopping.signal);
      stopping.done();
    });
}

/** The two outputs of the terminal, which lets no control code of a router through. */
function outputsOf(terminal: Terminal): { stdout: TextOutput; stderr: TextOutput } {
  return {
    stdout: { write: (text) => terminal.write(text) },
    stderr: { write: (text) => terminal.say(text.trimEnd()) },
  };
}
