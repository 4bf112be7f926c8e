/**
 * The kernel of `cadastre agent`: this machine's, or one in memory for demos and
 * stories without root. The one in memory keeps its routes in a file, because a
 * real one keeps them through an agent's restart.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { FakeNamespace } from '../../kernel/fake/fake-namespace.ts';
import { FakeKernel } from '../../kernel/fake-kernel.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { derivedMac } from '../../kernel/link.ts';
import { NetlinkKernel } from '../../kernel/netlink-kernel.ts';
import { type KernelRoute, nodeRouteProtocol } from '../../kernel/route.ts';
import { parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';

export const kernelNames = ['netlink', 'fake'] as const;

export function openKernel(
  name: (typeof kernelNames)[number],
  fakeUplinks: readonly string[],
  stateDir: string,
  places: { netnsPath?: string | undefined; procSysNet?: string | undefined } = {},
): Kernel {
  if (name === 'netlink') return new NetlinkKernel(places);
  const namespace = new FakeNamespace();
  for (const text of fakeUplinks) addUplink(namespace, text);
  keepRoutes(namespace, join(stateDir, 'fake-kernel.json'));
  return new FakeKernel(new Map(), namespace);
}

/** `eth0=10.4.94.32/24`. */
function addUplink(namespace: FakeNamespace, text: string): void {
  const [name = '', cidr = ''] = text.split('=');
  const [address = '', length = ''] = cidr.split('/');
  const parsed = parseAddress(address);
  if (name === '' || parsed === undefined || parsePrefix(cidr) === undefined) {
    throw new CadastreError('BAD_FLAG', `--fake-uplink=${text} is not like eth0=10.4.94.32/24`);
  }
  const held = namespace.links.get(name);
  const link = held ?? namespace.addLink({ name, kind: '', mac: derivedMac(text), mtu: 1500 });
  link.addresses.push({ address: parsed, length: Number(length) });
  namespace.setUp(link, true);
}

interface RouteText {
  prefix: string;
  type?: NonNullable<KernelRoute['type']>;
  via?: string;
  device?: string;
  isOnLink?: boolean;
  metric?: number;
  table?: number;
}

function keepRoutes(namespace: FakeNamespace, path: string): void {
  let text = '[]';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // The first run: there is nothing to keep.
  }
  for (const { prefix, via, ...rest } of JSON.parse(text) as RouteText[]) {
    const route: KernelRoute = {
      ...rest,
      prefix: parsePrefix(prefix)!,
      protocol: nodeRouteProtocol,
      ...(via === undefined ? {} : { via: parseAddress(via)! }),
    };
    if (namespace.objection(route, true) === undefined) namespace.putRoute(route);
  }
  namespace.listeners.add((event) => {
    if (event.kind !== 'route') return;
    const ours = [...namespace.routes.values()].filter((r) => r.protocol === nodeRouteProtocol);
    const texts = ours.map(({ prefix, via, type, device, isOnLink, metric, table }) => ({
      prefix: prefix.toString(),
      type,
      via: via?.toString(),
      device,
      isOnLink,
      metric,
      table,
    }));
    writeFileSync(`${path}.next`, JSON.stringify(texts));
    renameSync(`${path}.next`, path);
  });
}
