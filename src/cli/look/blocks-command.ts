import { type Command, Option } from 'commander';
import { ageText } from '../../base/age-text.ts';
import { CadastreError } from '../../base/errors.ts';
import { apiVersion } from '../../model/keys.ts';
import type { Block, BlockWitness } from '../../model/node-block.ts';
import { parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { type BlockStep, decideBlock } from '../../plan/blocks/block-life.ts';
import { awaitingWords, witnessWords } from '../../plan/blocks/witness.ts';
import { timeText } from '../numbers.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import {
  addLookFlags,
  checkPool,
  type Look,
  type LookFlagValues,
  lookAt,
  pickNamed,
} from '../view/look.ts';
import { registerBlocksRelease } from './blocks-release.ts';

const examples = `
Examples:
  Every block of the register, by address:
    $ cadastre blocks

  What is in cool-down after its node is gone, and what is missing for its release:
    $ cadastre blocks --phase Cooling

  The machine of a node that is gone is off, so its block can be used again:
    $ cadastre blocks release 10.5.112.0/24 --machine-is-off "powered off, ticket 4711"

  The blocks of one node; the block around a pod's address:
    $ cadastre blocks --node node1
    $ cadastre blocks 10.5.112.17`;

interface BlockFilters {
  pool?: string;
  node?: string;
  phase?: string;
}

export function registerBlocks(program: Command, terminal: Terminal): void {
  const command = program
    .command('blocks')
    .argument('[block...]', 'only these: a CIDR, an address inside, or the name of the NodeBlock')
    .summary('the register: every block, its node and its phase')
    .description('Lists the NodeBlocks: which piece of address space belongs to which node.')
    .option('--pool <name>', 'only blocks of this pool')
    .option('--node <name>', 'only blocks of this node')
    .addOption(
      new Option('--phase <phase>', 'only blocks in this phase').choices([
        'Active',
        'Draining',
        'Cooling',
        'Guard',
      ]),
    );
  registerBlocksRelease(command, terminal);
  addLookFlags(command)
    .addHelpText('after', examples)
    .action(async (names: string[], flags: LookFlagValues & BlockFilters) => {
      const look = await lookAt(flags, terminal);
      checkPool(look, flags.pool);
      checkNode(look, flags.node);
      const all = [...look.register.blocks.values()].sort((a, b) => a.prefix.compare(b.prefix));
      const blocks = pickNamed(all, names, 'block', isCalled)
        .filter((block) => flags.pool === undefined || block.pool === flags.pool)
        .filter((block) => flags.node === undefined || block.nodeName === flags.node)
        .filter((block) => flags.phase === undefined || block.phase === flags.phase)
        .map((block) => describeBlock(look, block));
      if (blocks.length === 0) {
        terminal.say(
          all.length === 0 ? 'No block is registered.' : 'No registered block is like that.',
        );
      }
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'BlockRegister', blocks },
        names: blocks.map(({ name }) => `nodeblock.cadastre.dev/${name}`),
        table: (columns, isWide) =>
          blocks.length === 0 ? '' : blockTable(blocks, columns, isWide, look.nowMs),
      });
    });
}

/** A node that is gone may still have blocks; one that nobody knows is a slip of the pen. */
function checkNode({ register }: Look, name: string | undefined): void {
  if (name === undefined || register.nodes.has(name)) return;
  for (const { nodeName } of register.blocks.values()) if (nodeName === name) return;
  throw new CadastreError('BAD_INPUT', `--node=${name}: there is no node "${name}"`, {
    remedy: 'cadastre nodes -o name lists them.',
  });
}

function isCalled(block: Block, name: string): boolean {
  if (block.name === name) return true;
  const prefix = parsePrefix(name);
  if (prefix !== undefined) return prefix.equals(block.prefix);
  const address = parseAddress(name);
  return address !== undefined && block.prefix.contains(address);
}

export interface BlockDescription {
  name: string;
  cidr: string;
  pool: string;
  node: string;
  nodeExists: boolean;
  phase: Block['phase'];
  /** When it was registered, or began to cool; absent if nobody wrote it down. */
  since?: string;
  /** How much of the cool-down leaders have watched. */
  restedSeconds?: number;
  /** Who says that its old node does not use it. */
  released?: BlockWitness;
  guards?: readonly string[];
  /** What the operator would do with it now. */
  next: string;
}

export function describeBlock(look: Look, block: Block): BlockDescription {
  const { register, settings } = look;
  const sinceMs = block.phase === 'Cooling' ? block.coolingSinceMs : block.createdMs;
  return {
    name: block.name,
    cidr: block.prefix.toString(),
    pool: block.pool,
    node: block.nodeName,
    nodeExists: register.nodes.has(block.nodeName),
    phase: block.phase,
    ...(sinceMs === 0 ? {} : { since: timeText(sinceMs) }),
    ...(block.restedSeconds === undefined ? {} : { restedSeconds: block.restedSeconds }),
    ...(block.released === undefined ? {} : { released: block.released }),
    ...(block.phase === 'Guard' ? { guards: block.guards } : {}),
    next: nextWords(
      block,
      decideBlock(register, block, block.restedSeconds ?? 0, settings.rules.byDemand),
    ),
  };
}

function nextWords(block: Block, step: BlockStep): string {
  const { releasable } = block;
  // What can be attributed is the operator's to know.
  if (block.phase !== 'Cooling' && releasable !== undefined) {
    return `stays: ${releasable.message}`;
  }
  switch (step.kind) {
    case 'doubt':
    case 'used':
      return `stays: ${step.why}`;
    case 'stay':
    case 'record':
      return block.phase === 'Draining'
        ? 'is released when its node has no pod left in it'
        : 'stays';
    case 'cool':
      return step.nodeGone
        ? 'enters cool-down: its node is gone'
        : 'enters cool-down: its node released it';
    case 'witness':
      return step.by === null ? `is used again: ${step.detail}` : `is not used: ${step.detail}`;
    case 'drain':
      return 'drains: its node is there again, with another block';
    case 'rest':
      return `is in cool-down for ${ageText(step.seconds * 1000)} more`;
    case 'await':
      return `awaits release: ${block.releasable?.message ?? awaitingWords(block, ['no operator has looked yet'])}`;
    case 'keep for last':
      return 'is used after all other free blocks: released by time alone';
    case 'free':
      return block.released === undefined
        ? 'is deleted: it guards nothing'
        : `is freed: ${witnessWords(block.released)}`;
  }
}

function blockTable(
  blocks: readonly BlockDescription[],
  columns: number,
  isWide: boolean,
  nowMs: number,
): string {
  const headings = ['CIDR', 'POOL', 'NODE', 'PHASE', 'SINCE', ...(isWide ? ['NAME'] : []), 'NEXT'];
  const rows = blocks.map((block) => [
    block.cidr,
    block.pool,
    block.node || '-',
    block.phase,
    block.since === undefined ? '-' : ageText(nowMs - Date.parse(block.since)),
    ...(isWide ? [block.name] : []),
    block.guards === undefined ? block.next : `${block.next}; guards ${block.guards.join(', ')}`,
  ]);
  return renderTable(headings, rows, columns);
}
