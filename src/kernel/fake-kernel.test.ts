import { describe } from 'vitest';
import { a, contractCases, p, type Site } from '../../test/kernel/contract.ts';
import { FakeKernel } from './fake-kernel.ts';

describe('the fake kernel', () => {
  contractCases(async (): Promise<Site> => {
    const node = new FakeKernel();
    await node.createVeth({ name: 'cad0', peerName: 'cad1' });
    await node.changeLink('cad0', { isUp: true });
    await node.changeLink('cad1', { isUp: true });
    await node.setAddresses('cad0', [
      { address: a('10.4.0.1'), length: 24 },
      { address: a('fd04::1'), length: 64 },
    ]);
    let counter = 0;
    const foreign: string[] = [];
    return {
      node,
      async makeNamespace() {
        const path = `/run/netns/fake-${counter++}`;
        node.addNamespace(path);
        return path;
      },
      async removeNamespace(path) {
        node.removeNamespace(path);
      },
      inside: (path) => node.inside(path),
      async addForeignRoute(prefix) {
        foreign.push(prefix);
        const routes = foreign.map((text) => ({ prefix: p(text), device: 'cad0' }));
        await node.setRoutes(routes, 4);
      },
      async removeAsAnother(prefix) {
        const found = (await node.routes()).find((route) => String(route.prefix) === prefix);
        if (!found) throw new Error(`there is no route ${prefix}`);
        const { protocol } = found;
        const others = (await node.routes({ protocol })).filter((route) => route !== found);
        await node.setRoutes(others, protocol);
      },
      async close() {
        node.close();
      },
    };
  });
});
