/** The addresses' part of an agent as a process that can be killed; its settings come by environment. */
import { AddressService } from '../../src/agent/address-service.ts';
import { systemClock } from '../../src/base/clock.ts';
import { NetlinkKernel } from '../../src/kernel/netlink-kernel.ts';
import { parsePrefix } from '../../src/net/prefix.ts';

const { NODE_NETNS, NODE_STATE, NODE_SOCKET, NODE_BLOCKS } = process.env;
await AddressService.start({
  stateFolder: NODE_STATE!,
  socketPath: NODE_SOCKET!,
  driver: new NetlinkKernel({ netnsPath: NODE_NETNS }),
  blocks: NODE_BLOCKS!
    .split(',')
    .map((text) => ({ prefix: parsePrefix(text)!, isDraining: false })),
  clock: systemClock,
  version: 'test',
  restMs: 0,
  sweepEveryMs: 500,
});
console.log('ready');
