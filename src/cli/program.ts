import { Command } from 'commander';
import { CadastreError } from '../base/errors.ts';
import { commandList } from './command-list.ts';
import { tellFailure } from './failure.ts';
import { generalHelp } from './general-help.ts';
import { preferMemory } from './prefer-memory.ts';
import { printableTerminal } from './printable-terminal.ts';
import { Progress } from './progress.ts';
import { aborted, stopOnSignals } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';
import { readVersion } from './version.ts';
import { heldBack, watchMs } from './watch.ts';

type Register = (program: Command, terminal: Terminal) => void;

/**
 * The commands, in the order of the help page. Each is loaded only when it is
 * asked for, or when all of them are: the operator alone brings the whole API
 * client along, and `--version` should not wait for that.
 */
const commands: Record<string, () => Promise<Register>> = {
  up: async () => (await import('./run/up-command.ts')).registerUp,
  operator: async () => (await import('./run/operator-command.ts')).registerOperator,
  agent: async () => (await import('./run/agent-command.ts')).registerAgent,
  console: async () => (await import('./run/console-command.ts')).registerConsole,
  status: async () => (await import('./run/status-command.ts')).registerStatus,
  'log-level': async () => (await import('./run/log-level-command.ts')).registerLogLevel,
  cni: async () => (await import('./run/cni-command.ts')).registerCni,
  drain: async () => (await import('./run/drain-command.ts')).registerDrain,
  nodes: async () => (await import('./look/nodes-command.ts')).registerNodes,
  pools: async () => (await import('./look/pools-command.ts')).registerPools,
  blocks: async () => (await import('./look/blocks-command.ts')).registerBlocks,
  plan: async () => (await import('./look/plan-command.ts')).registerPlan,
  doctor: async () => (await import('./doctor/doctor-command.ts')).registerDoctor,
  whatif: async () => (await import('./doctor/whatif-command.ts')).registerWhatIf,
  explain: async () => (await import('./look/explain-command.ts')).registerExplain,
  ipam: async () => (await import('./look/ipam-command.ts')).registerIpam,
  migrate: async () => (await import('./migrate/migrate-command.ts')).registerMigrate,
  bgp: async () => (await import('./bgp/bgp-command.ts')).registerBgp,
  'router-config': async () =>
    (await import('./bgp/router-config-command.ts')).registerRouterConfig,
  lab: async () => (await import('./lab/lab-command.ts')).registerLab,
  version: async () => (await import('./about/version-command.ts')).registerVersion,
  completion: async () => (await import('./completion/completion-command.ts')).registerCompletion,
  man: async () => (await import('./man-command.ts')).registerMan,
  sbom: async () => (await import('./about/sbom-command.ts')).registerSbom,
  licenses: async () => (await import('./about/licenses-command.ts')).registerLicenses,
};

/** Runs one command line and gives its exit code. */
export async function runCommandLine(argv: readonly string[], raw: Terminal): Promise<number> {
  const isDebug = argv.includes('--debug') || Boolean(raw.env.CADASTRE_DEBUG);
  // What is loaded from here on tells its place in the source, not in the bundle.
  if (isDebug) process.setSourceMapsEnabled(true);
  if (isHelpOfAll(argv)) return printHelpOfAll(printableTerminal(raw));
  const isWatching = argv.includes('-w') || argv.includes('--watch');
  if (!isWatching) return (await runOnce(argv, raw, isDebug)).code;
  const stopping = stopOnSignals();
  let last = '';
  for (;;) {
    const held = heldBack(raw);
    const { code, waitMs } = await runOnce(argv, held.terminal, isDebug);
    last = held.show(last);
    // Without a wait the command did not come to look: a wrong flag, or none that is repeated.
    if (waitMs === undefined || stopping.signal.aborted) return code;
    await Promise.race([wait(waitMs), aborted(stopping.signal)]);
    if (stopping.signal.aborted) return code;
  }
}

/** One command, once. `waitMs`: it wants to be run again after that. */
async function runOnce(
  argv: readonly string[],
  raw: Terminal,
  isDebug: boolean,
): Promise<{ code: number; waitMs: number | undefined }> {
  const progress = new Progress(raw);
  const terminal = printableTerminal(attended(raw, progress));
  let waitMs: number | undefined;
  try {
    const program = makeProgram(terminal);
    program.hook('preAction', (_, command) => {
      waitMs = watchMs(command.opts());
      progress.start();
    });
    refuseUnknownTopic(argv);
    const needed = neededBy(argv);
    if (needed.length === 1 && needed[0] === commands.agent) preferMemory();
    for (const load of needed) (await load())(program, terminal);
    await program.parseAsync(argv, { from: 'user' });
    return { code: terminal.exitCode, waitMs };
  } catch (error) {
    return { code: tellFailure(error, terminal, isDebug), waitMs };
  } finally {
    progress.stop();
  }
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A terminal on which the line of progress goes away before anything is printed. */
function attended(raw: Terminal, progress: Progress): Terminal {
  return {
    ...raw,
    write: (text, paint) => {
      progress.clear();
      raw.write(text, paint);
    },
    say: (line) => {
      progress.clear();
      raw.say(line);
    },
    doing: (stage) => progress.at(stage),
  };
}

function isHelpOfAll(argv: readonly string[]): boolean {
  const [first = '', ...more] = argv;
  return more.length === 0 && ['help', '--help', '-h'].includes(first);
}

/** The page of everything, by the list of commands alone: loading all of them takes its time. */
function printHelpOfAll(terminal: Terminal): number {
  const program = makeProgram(terminal);
  for (const { term, summary } of commandList) {
    const [name = '', ...rest] = term.split(' ');
    const words = rest.filter((word) => word !== '[options]');
    const listed = program.command([name, ...words].join(' ')).summary(summary);
    if (rest.includes('[options]')) listed.option('--any');
  }
  program.outputHelp();
  return 0;
}

/** Every command with its flags, for whoever goes over all of them. */
export async function wholeProgram(terminal: Terminal): Promise<Command> {
  const program = makeProgram(terminal);
  for (const load of Object.values(commands)) (await load())(program, terminal);
  return program;
}

/** The one command that is named first; all of them when it could be about any. */
function neededBy(argv: readonly string[]): Array<() => Promise<Register>> {
  const [first = '', ...rest] = argv.filter((word) => word !== '--debug' && word !== '--');
  // The word at the cursor may become any command; one that is followed by others is that one.
  if (first === '__complete') {
    const others = neededBy(rest.length > 1 ? rest : []);
    return [...new Set([...others, commands.completion!])];
  }
  if (first === '--version' || first === '-V') return [];
  // The manual page is about all of them.
  const isOne = Object.hasOwn(commands, first) && first !== 'man';
  const named = isOne ? commands[first] : undefined;
  return named === undefined ? Object.values(commands) : [named];
}

/** Commander answers `help nonsense` with the page of everything, as if nothing were wrong. */
function refuseUnknownTopic([first, topic]: readonly string[]): void {
  if (first !== 'help' || topic === undefined || topic.startsWith('-') || topic === 'help') return;
  if (Object.hasOwn(commands, topic)) return;
  throw new CadastreError('BAD_USAGE', `unknown command '${topic}'`, {
    remedy: 'See cadastre --help.',
  });
}

function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

function makeProgram(terminal: Terminal): Command {
  return new Command('cadastre')
    .description(
      'Every Kubernetes node its own block of pod addresses: who holds which, why, and what would happen.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--debug', 'show where a failure came from (also: CADASTRE_DEBUG=1)')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.say(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, 'cadastre: ')),
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
    })
    .showHelpAfterError('See cadastre --help, or --help after the command.')
    .addHelpText(
      'after',
      generalHelp.map(({ title, text }) => `\n${title}:\n${indented(text)}`).join('\n'),
    )
    .exitOverride();
}
