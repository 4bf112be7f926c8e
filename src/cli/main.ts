import { runCommandLine } from './program.ts';
import { argumentsOf } from './program-name.ts';
import { processTerminal } from './terminal.ts';

/**
 * The room's essay. `cli` is where a person, or a script, comes in.
 * It picks words, columns and exit codes, and decides nothing: judgement is in
 * `plan`, and the same judgement serves the operator.
 *
 *   argv ─▶ program ─▶ a command ─▶ its flags ─▶ ClusterState ─▶ Register ─▶ plan
 *                                                                            │
 *   exit code ◀── failure ◀── (anything thrown)      stdout ◀── output ◀─────┘
 *
 *   program      the table of commands; each is one file, *-command, and registers itself
 *   run/         what runs on and on, or talks to one agent: operator, agent, up, drain, status
 *   look/        nodes, pools, blocks, plan, explain, ipam: the register, and why it is so
 *   doctor/, migrate/, bgp/, lab/, completion/   a folder for each group of commands
 *   about/       sbom, licenses: the program itself
 *   view/        what they look at: view-flags name a cluster or files (read by `cluster`);
 *                ipam-flags say how blocks are allocated, for the operator too
 *   output, table, sections   one answer as table, JSON, YAML or names
 *   failure      one sentence, a remedy, an exit code
 *
 * What scripts may rely on: data on stdout and words on stderr; on a failure
 * nothing on stdout; 0 fine, 1 failed, 2 wrong usage. Everything that looks at
 * a cluster works the same on files (`--from`), because the next person to look
 * at an incident often has only files.
 *
 * Not to be "optimised" away: the exit code is set, not forced, so that a pipe
 * gets all of a long answer; the API client and the YAML parser are loaded by
 * the command that needs them, because `--help` should not wait for them.
 */
process.exitCode = await runCommandLine(argumentsOf(process.argv), processTerminal());
