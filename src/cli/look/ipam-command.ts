import type { Command } from 'commander';
import { askAgent } from '../../agent/ask-agent.ts';
import { CadastreError } from '../../base/errors.ts';
import { printable } from '../../base/printable.ts';
import type { AllocationJson } from '../../model/agent-api.ts';
import { apiVersion } from '../../model/keys.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { addIpamFlags, type IpamFlagValues } from '../view/ipam-flags.ts';
import { lookAt } from '../view/look.ts';
import {
  addNodeStateFlags,
  localSocket,
  type NodeStateFlags,
  readLocal,
} from '../view/node-states.ts';
import { describeHolder, type HolderDescription } from './ipam-holder.ts';
import { clusterUsage, localUsage, type UsageLine, usageRow } from './ipam-usage.ts';

type IpamShowFlags = NodeStateFlags & IpamFlagValues & { showBlocks?: boolean; ip?: string };

/** `cadastre ipam show`: how full pools and blocks are, in the columns of `calicoctl ipam show`. */
export function registerIpam(program: Command, terminal: Terminal): void {
  const ipam = program
    .command('ipam')
    .description('addresses: how many are in use, and by whom')
    .addHelpText('after', `\nExamples:\n  $ cadastre ipam show\n  $ cadastre ipam show 10.5.113.7`);
  const command = ipam
    .command('show')
    .argument('[address]', 'who has this one')
    .summary('how many addresses are in use, by pool and block; or who has one')
    .description('Shows how full pools and blocks are, or who has an address.')
    .option('--show-blocks', 'every block below its pool')
    .option('--ip <address>', 'the same as the argument, as calicoctl has it');
  addIpamFlags(addNodeStateFlags(command))
    .addHelpText(
      'after',
      `
On a node it shows the node's own blocks by the word of its agent; elsewhere, or
with --node, --kubeconfig, --context or --from, the pools of the whole cluster.

Examples:
  $ cadastre ipam show
  $ cadastre ipam show --show-blocks
  $ cadastre ipam show 10.5.113.7`,
    )
    .action(async (given: string | undefined, flags: IpamShowFlags) => {
      const text = given ?? flags.ip;
      if (text === undefined) await showUsage(flags, terminal);
      else await showHolder(readAddress(text), flags, terminal);
    });
}

async function showUsage(flags: IpamShowFlags, terminal: Terminal): Promise<void> {
  const socket = localSocket(flags, terminal.env);
  const lines =
    socket === undefined
      ? clusterUsage(await lookAt(flags, terminal, ['servicePools', 'serviceAddresses']), flags)
      : localUsage(await readLocal(socket));
  if (lines.length === 0) terminal.say('There is no pool and no block.');
  await printAnswer(terminal, flags.output, {
    data: { apiVersion, kind: 'AddressUsage', usage: lines },
    names: lines.map(({ cidr }) => cidr),
    table: (columns) => (lines.length === 0 ? '' : usageTable(lines, columns)),
  });
}

function usageTable(lines: readonly UsageLine[], columns: number): string {
  const headings = ['GROUPING', 'CIDR', 'IPS TOTAL', 'IPS IN USE', 'IPS FREE', 'NODE'];
  return renderTable(headings, lines.map(usageRow), columns);
}

async function showHolder(
  address: Address,
  flags: IpamShowFlags,
  terminal: Terminal,
): Promise<void> {
  const socket = localSocket(flags, terminal.env);
  const holder =
    socket === undefined
      ? describeHolder(
          address,
          await lookAt(flags, terminal, [
            'pods',
            'ciliumEndpoints',
            'servicePools',
            'serviceAddresses',
          ]),
        )
      : await localHolder(address, socket);
  if (!holder.isHeld) terminal.exitCode = 1;
  await printAnswer(terminal, flags.output, {
    data: { apiVersion, kind: 'AddressHolder', ...holder },
    names: [holder.address],
    table: () => {
      const lines = Object.entries(holder.attributes).map(
        ([key, value]) => `  ${printable(`${key}: ${value}`)}\n`,
      );
      const attributes = lines.length === 0 ? '' : `Attributes:\n${lines.join('')}`;
      return `${printable(holder.sentence)}\n${attributes}`;
    },
  });
}

async function localHolder(address: Address, socket: string): Promise<HolderDescription> {
  const { items } = (await askAgent(socket, 'GET', '/v1/addresses')) as { items: AllocationJson[] };
  const text = address.toString();
  const found = items.find(({ addresses }) => addresses.some((one) => one.address === text));
  if (found === undefined) {
    const { blocks } = await readLocal(socket);
    const inside = blocks.find(({ cidr }) => isInside(cidr, address));
    const where = inside === undefined ? 'outside the blocks of this node' : `in ${inside.cidr}`;
    const sentence = `IP ${text} is not assigned; it lies ${where}`;
    return { address: text, isHeld: false, sentence, attributes: {} };
  }
  const { owner, attachment } = found;
  const { pod, addressesOnly: _, ...place } = attachment ?? {};
  return {
    address: text,
    isHeld: true,
    sentence: `IP ${text} is in use`,
    attributes: { ...(pod === undefined ? {} : { pod }), owner, ...place },
  };
}

function isInside(cidr: string, address: Address): boolean {
  return parsePrefix(cidr)?.contains(address) === true;
}

function readAddress(text: string): Address {
  const address = parseAddress(text.trim());
  if (address !== undefined) return address;
  throw new CadastreError('BAD_INPUT', `"${text}" is not an IP address`, {
    remedy: 'Give one such as 10.5.113.7; for a block see cadastre blocks or explain.',
  });
}
