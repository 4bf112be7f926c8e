import type { Argument, Command, Option } from 'commander';

/** Names that are not in the program: of objects in the cluster, or of the shipped topologies. */
export type NameKind = 'nodes' | 'pools' | 'blocks' | 'peers' | 'contexts' | 'topologies';

export interface WhatFollows {
  /** Words that may stand at the cursor. */
  candidates: string[];
  names: NameKind[];
  /** Stands before each name: `--node=` of `--node=master`. */
  prefix: string;
  /** The shell's own completion of paths. */
  isPath: boolean;
  /** What the line says already about the cluster to ask. */
  cluster: { kubeconfig?: string; context?: string };
}

/** What an argument, by its name in the help, is a name of. */
const namesOfArgument: Record<string, NameKind[]> = {
  node: ['nodes'],
  pool: ['pools'],
  block: ['blocks'],
  what: ['nodes', 'pools'],
  topology: ['topologies'],
};
/** `nodes [name...]` lists nodes. */
const namesOfCommand: Record<string, NameKind[]> = { nodes: ['nodes'], pools: ['pools'] };

const namesOfOption: Record<string, NameKind[]> = {
  '--node': ['nodes'],
  '--node-name': ['nodes'],
  '--pool': ['pools'],
  '--peer': ['peers'],
  '--context': ['contexts'],
  '--topology': ['topologies'],
};

/**
 * What may stand in place of the last of these words; the shell keeps what begins as that
 * word does. Pure: names are asked for by whoever calls.
 */
export function whatFollows(program: Command, words: readonly string[]): WhatFollows {
  const current = words.at(-1) ?? '';
  const line = readLine(program, words.slice(0, -1));
  const { command } = line;
  const none = {
    candidates: [],
    names: [],
    prefix: '',
    isPath: false,
    cluster: line.cluster,
  };
  if (line.waitsForValue !== undefined) return { ...none, ...valuesOf(line.waitsForValue) };
  const [, long = '', dashes] = /^(--[\w-]+)=(.*)$/.exec(current) ?? [];
  if (dashes !== undefined) {
    const option = optionOf(command, program, long);
    if (option === undefined) return none;
    const values = valuesOf(option);
    const prefix = `${long}=`;
    const candidates = values.candidates.map((word) => `${prefix}${word}`);
    return { ...none, ...values, candidates, prefix };
  }
  if (current.startsWith('-') && !line.isAfterDashes) {
    return { ...none, candidates: flagsOf(command, program) };
  }
  const below = line.arguments === 0 ? subcommandsOf(command) : [];
  const argument =
    command.registeredArguments[line.arguments] ?? command.registeredArguments.findLast(isVariadic);
  const rest = argument === undefined ? none : wordsOf(argument, command);
  return { ...none, ...rest, candidates: [...below, ...rest.candidates] };
}

interface ReadLine {
  command: Command;
  arguments: number;
  waitsForValue?: Option | undefined;
  isAfterDashes: boolean;
  cluster: WhatFollows['cluster'];
}

function readLine(program: Command, words: readonly string[]): ReadLine {
  const line: ReadLine = { command: program, arguments: 0, isAfterDashes: false, cluster: {} };
  const keep = (option: Option | undefined, value: string) => {
    if (option?.long === '--kubeconfig') line.cluster.kubeconfig = value;
    if (option?.long === '--context') line.cluster.context = value;
  };
  for (const word of words) {
    if (line.waitsForValue !== undefined) {
      keep(line.waitsForValue, word);
      line.waitsForValue = undefined;
    } else if (word === '--') line.isAfterDashes = true;
    else if (word.startsWith('-') && word !== '-' && !line.isAfterDashes) {
      const [flag = '', ...value] = word.split('=');
      const option = optionOf(line.command, program, flag);
      if (value.length > 0) keep(option, value.join('='));
      else if (option?.required) line.waitsForValue = option;
    } else {
      const below =
        line.arguments === 0
          ? line.command.commands.find((one) => one.name() === word || one.aliases().includes(word))
          : undefined;
      if (below === undefined) line.arguments++;
      else line.command = below;
    }
  }
  return line;
}

const isVariadic = ({ variadic }: Argument) => variadic;

function optionOf(command: Command, program: Command, flag: string): Option | undefined {
  return [...command.options, ...program.options].find(
    ({ long, short }) => flag === long || flag === short,
  );
}

function flagsOf(command: Command, program: Command): string[] {
  const shared = program.options.filter(({ long }) => command === program || long !== '--version');
  const own = command === program ? [] : command.options;
  const long = [...own, ...shared].filter(({ hidden }) => !hidden).map((option) => option.long);
  return [...long.filter((flag) => typeof flag === 'string'), '--help'];
}

function subcommandsOf(command: Command): string[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
}

function valuesOf(option: Option) {
  if (option.argChoices !== undefined) {
    return { candidates: [...option.argChoices] };
  }
  const isPath = /[<[](file|path|dir|folder|router=file)[>\]]/.test(option.flags);
  return { candidates: [], names: namesOfOption[option.long ?? ''] ?? [], isPath };
}

function wordsOf(argument: Argument, command: Command) {
  if (argument.argChoices !== undefined) {
    return { candidates: [...argument.argChoices], names: [] };
  }
  const names = namesOfCommand[command.name()] ?? namesOfArgument[argument.name()] ?? [];
  // A command that takes no kubeconfig means machines of its own, not nodes of the cluster.
  const asksCluster = command.options.some(({ long }) => long === '--kubeconfig');
  return {
    candidates: [],
    names: names.filter((kind) => asksCluster || kind === 'topologies'),
    isPath: argument.name() === 'topology',
  };
}
