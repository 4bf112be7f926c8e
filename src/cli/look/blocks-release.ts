import type { Command } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getIfThere } from '../../kube/get-if-there.ts';
import { type ClusterNode, readNode } from '../../model/node.ts';
import { type Block, type BlockWitness, blockName, readBlock } from '../../model/node-block.ts';
import { nodeBlocks, nodes } from '../../model/resources.ts';
import { parsePrefix, prefixProblem } from '../../net/prefix.ts';
import type { Terminal } from '../terminal.ts';
import { addClusterFlags, withClient } from '../view/view-flags.ts';

interface ReleaseFlags {
  kubeconfig?: string;
  context?: string;
  machineIsOff: string;
}

/**
 * `cadastre blocks release CIDR --machine-is-off "why"`: a person is the witness. Written
 * into the NodeBlock, and from there into its history; an operator frees the block when
 * its cool-down is over.
 */
export function registerBlocksRelease(blocks: Command, terminal: Terminal): void {
  const command = blocks
    .command('release')
    .argument('<cidr>', 'the block')
    .summary('say that the old node of a block is off, so that the block can be used again')
    .description(
      'Says that the machine of a node that is gone is off. Its block is then free when its cool-down is over. Never say so of a machine that may still run: its pods would share their addresses with those of another node.',
    )
    .requiredOption('--machine-is-off <why>', 'how you know it; kept in the history of the block');
  addClusterFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  $ cadastre blocks --phase Cooling       # which blocks await release, and what is missing
  $ cadastre blocks release 10.5.112.0/24 --machine-is-off "powered off, ticket 4711"`,
    )
    // `blocks` has the same flags, and commander gives them to whichever it likes.
    .action((cidr: string, _: unknown, own: Command) =>
      runRelease(cidr, own.optsWithGlobals<ReleaseFlags>(), terminal),
    );
}

async function runRelease(cidr: string, flags: ReleaseFlags, terminal: Terminal): Promise<void> {
  const detail = flags.machineIsOff.trim();
  if (detail === '') {
    throw new CadastreError('BAD_FLAG', '--machine-is-off is empty: say how you know it');
  }
  const problem = prefixProblem(cidr);
  const prefix = parsePrefix(cidr);
  if (problem !== undefined || prefix === undefined) {
    throw new CadastreError('BAD_INPUT', problem ?? `${cidr} is not a CIDR`);
  }
  await withClient(flags, terminal, async (client) => {
    const block = await readRegistered(client, blockName(prefix), cidr);
    const raw = await getIfThere(client, nodes, block.nodeName);
    refuseIfInUse(block, raw === undefined ? undefined : readNode(raw));
    const at = new Date(terminal.clock.wallMs()).toISOString();
    await writeWitness(client, block, { by: 'Administrator', at, detail: detail.slice(0, 1024) });
    terminal.say(
      `${block.prefix}: recorded that the machine of ${block.nodeName} is off; the operator frees the block when its cool-down is over`,
    );
  });
}

async function readRegistered(client: KubeClient, name: string, cidr: string): Promise<Block> {
  const raw = await getIfThere(client, nodeBlocks, name);
  const read = raw === undefined ? undefined : readBlock(raw);
  if (read?.kind !== 'block' || read.block.phase === 'Guard') {
    throw new CadastreError('BAD_INPUT', `no node holds a block ${cidr}`, {
      remedy: 'cadastre blocks lists them.',
    });
  }
  return read.block;
}

/** What a living node holds is not released by a word: it may be in use at this moment. */
function refuseIfInUse(block: Block, node: ClusterNode | undefined): void {
  const { phase, prefix, nodeName, released } = block;
  if (released !== undefined) {
    throw new CadastreError('BAD_INPUT', `${prefix} has a witness already: ${released.by}`, {
      remedy: 'The operator frees it when its cool-down is over; see cadastre explain.',
    });
  }
  if (phase === 'Cooling' || node?.uid !== block.nodeUid || node.isNotReady) return;
  throw new CadastreError(
    'BAD_INPUT',
    `${prefix} is ${phase}, and its Node ${nodeName} is there and Ready: it may be in use`,
    { remedy: `Drain the node and delete Node ${nodeName} first.` },
  );
}

async function writeWitness(
  client: KubeClient,
  { name, uid, resourceVersion, prefix }: Block,
  released: BlockWitness,
): Promise<void> {
  const body = { metadata: { uid, resourceVersion }, spec: { released } };
  try {
    await client.patch(nodeBlocks, name, { type: 'merge', body });
  } catch (error) {
    if (!(error instanceof ApiError) || !(error.isConflict || error.isNotFound)) throw error;
    throw new CadastreError('BAD_INPUT', `${prefix} has changed meanwhile; nothing was written`, {
      cause: error,
      remedy: 'Look at it again (cadastre explain), then repeat the command.',
    });
  }
}
