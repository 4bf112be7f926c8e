import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { plural } from '../../base/count-text.ts';
import { jsonLog, type LogLevel, logLevels } from '../../base/json-log.ts';
import { shellWord } from '../../base/shell-word.ts';
import { siteOfTopology } from '../../demo/site-of-topology.ts';
import { planSite, type Site } from '../../demo/site-plan.ts';
import { startUp, type Up } from '../../demo/up.ts';
import { pause } from '../../kube/backoff.ts';
import { loadTopology } from '../../lab/topologies.ts';
import { prepareDataFolder } from '../data-folder.ts';
import { readWhole } from '../numbers.ts';
import { programName } from '../program-name.ts';
import { aborted, stopOnSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import { readConsoleToken } from './console-flags.ts';

interface UpFlags {
  nodes?: string;
  topology?: string;
  data?: string;
  host: string;
  port: string;
  tokenFile?: string;
  logLevel: LogLevel;
}

const defaultNodes = 4;
const mostNodes = 2000;

/** `cadastre up`: the whole system on this machine, without a cluster and without root. */
export function registerUp(program: Command, terminal: Terminal): void {
  program
    .command('up')
    .description('the whole system on this machine: API server, operator, nodes, routers, console')
    .option('--nodes <n>', `how many nodes there are at least (default: ${defaultNodes} at first)`)
    .option('--topology <name>', "one of the lab's sites, or a file of that form")
    .option('--data <dir>', 'what survives a restart (default: ~/.local/share/cadastre/up)')
    .option('--host <address>', 'where the console is served', '127.0.0.1')
    .option('--port <n>', 'its port; 0 takes any free one', '7077')
    .option('--token-file <file>', 'a secret that readers must know; a must beyond loopback')
    .addOption(new Option('--log-level <level>').choices([...logLevels]).default('info'))
    .addHelpText(
      'after',
      `
Everything runs in this one process, on loopback: the real operator and agents on
kernels in memory, real BGP to routers that only listen. Ctrl-C stops it; started
again with the same --data it finds everything as it was.

Examples:
  $ cadastre up
  $ cadastre up --nodes 200 --data /tmp/large
  $ cadastre up --topology two-racks --port 0`,
    )
    .action((flags: UpFlags) => runUp(flags, terminal));
}

async function runUp(flags: UpFlags, terminal: Terminal): Promise<void> {
  // In a calm V8 gives memory back and then collects all the time: with 500 nodes the small
  // nursery every second, and everything every minute, each time a second of a core. It may
  // grow its nursery again in one go, and to twice what lives before it looks at everything.
  setFlagsFromString('--semi-space-growth-factor=16');
  setFlagsFromString('--heap-growing-percent=100');
  const port = readWhole('--port', flags.port, 0, 65535);
  const nodes =
    flags.nodes === undefined ? undefined : readWhole('--nodes', flags.nodes, 0, mostNodes);
  const dataDir = resolve(flags.data ?? defaultDataDir(terminal.env));
  const site = readSite(flags.topology, nodes);
  const token = readConsoleToken({ host: flags.host, port }, flags.tokenFile, '--token-file');
  prepareDataFolder('--data', dataDir);
  const program = programName();
  const logPath = join(dataDir, 'up.log');
  const log = jsonLog({ level: flags.logLevel, destination: { path: logPath } });
  const beganMs = terminal.clock.monotonicMs();
  const seconds = () => `${((terminal.clock.monotonicMs() - beganMs) / 1000).toFixed(1)} s`;
  const stopping = stopOnSignals();
  terminal.say(`cadastre up: starting in ${dataDir}`);
  let isStarting = true;
  stopping.signal.addEventListener('abort', () => {
    if (isStarting)
      terminal.say('cadastre up: stopping as soon as it stands; Ctrl-C again ends it');
  });
  const up = await startUp({
    dataDir,
    site,
    nodes,
    host: flags.host,
    port,
    token,
    program,
    version: readVersion(),
    clock: systemClock,
    log,
    onProgress: (words) => terminal.say(`cadastre up: ${words} (${seconds()})`),
  });
  isStarting = false;
  try {
    await untilReady(up, stopping.signal, (words) =>
      terminal.say(`cadastre up: ${words} (${seconds()})`),
    );
    if (!stopping.signal.aborted) {
      const path = shellWord(logPath);
      terminal.write(greeting(up, program, path, seconds(), token !== undefined));
    }
    await aborted(stopping.signal);
    terminal.say('cadastre up: stopping');
  } finally {
    await up.stop();
    stopping.done();
  }
  terminal.say('cadastre up: stopped; everything is kept');
}

/** What it waits for is said whenever it changes, at most once a second. */
async function untilReady(
  up: Up,
  signal: AbortSignal,
  say: (words: string) => void,
): Promise<void> {
  let said = '';
  for (let rounds = 0; !signal.aborted; rounds++) {
    const why = up.notReady();
    if (why === undefined) return;
    if (why !== said && rounds % 10 === 9) {
      said = why;
      say(why);
    }
    await pause(100, signal);
  }
}

function greeting(
  up: Up,
  program: string,
  logPath: string,
  took: string,
  hasToken: boolean,
): string {
  const { url, console: running } = up;
  const kubeconfigPath = shellWord(up.kubeconfigPath);
  const names = running.state.all('node').map(({ name }) => name);
  const byName = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });
  // What is printed is pasted: it names what is there.
  const something = names.sort(byName)[0] ?? running.state.all('pool')[0]?.name;
  const third = something === undefined ? 'pools' : `explain ${something}`;
  const routers = running.state.all('router').length;
  // After a # it is in no request, no Referer and no log; the page takes it out of the address.
  const secret = `${hasToken ? '?token=…' : ''}#token=${up.changeToken}`;
  return `
Cadastre is up: ${plural(names.length, 'node')}, ${plural(routers, 'router')}, ${took}

  console     ${url}${secret}
  kubeconfig  ${kubeconfigPath}
  log         ${logPath}

Three things to try:
  1. ${url}${secret}: press Play, and see the incident that Cadastre was written after
  2. kubectl --kubeconfig ${kubeconfigPath} get ippools,nodeblocks,nodes
  3. ${program} ${third} --kubeconfig ${kubeconfigPath}

The part after # lets you play the incident and change the site under Try it; do not pass it on.
Ctrl-C stops everything; started again it goes on where it was.
`;
}

function readSite(path: string | undefined, nodes: number | undefined): Site {
  if (path === undefined) return planSite(nodes ?? defaultNodes);
  return siteOfTopology(loadTopology(path).topology);
}

function defaultDataDir(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_DATA_HOME || join(homedir(), '.local/share'), 'cadastre/up');
}
