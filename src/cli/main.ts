import { processDoor } from './door.ts';
import { runCommandLine } from './program.ts';

/**
 * The room's essay. `cli` is the door that a person, or a script, comes in by.
 * It picks words, columns and exit codes, and decides nothing: judgement is in
 * `plan`, and the same judgement serves the operator.
 *
 *   argv ─▶ program ─▶ a command ─▶ its flags ─▶ ClusterView ─▶ Register ─▶ plan
 *                                                                            │
 *   exit code ◀── failure ◀── (anything thrown)      stdout ◀── output ◀─────┘
 *
 *   program, *-command    one file a command; it registers itself
 *   view-flags            which cluster, or which files in place of one
 *   ipam-flags            how blocks are given out; the operator reads them too
 *   view-from-*           two ways to the same ClusterView
 *   manifest, object-shape   what files may get wrong, each with its place
 *   register-of, why      what an operator would know, and why it would do what
 *   output, table         one answer as table, JSON, YAML or names
 *   failure               one sentence, a remedy, an exit code
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
process.exitCode = await runCommandLine(process.argv.slice(2), processDoor());
