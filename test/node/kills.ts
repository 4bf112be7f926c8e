/**
 * Kill -9 at random under parallel ADD and DEL, as a runtime sees it. Throws as
 * soon as two pods hold one address, or an answer is none that a runtime could
 * expect; ends with everything deleted and swept, and says what is left.
 */
import { addNamespace, deleteNamespace, ip, type Namespace } from '../kernel/namespaces.ts';
import { seed } from '../parts/random.ts';
import { seededRandom } from '../parts/seeded-random.ts';
import { TestNode } from './test-node.ts';

export interface KillFigures {
  kills: number;
  added: number;
  /** ADDs that a kill hit, or that came while nobody was there. */
  refused: number;
  /** DELs that only the spool heard of. */
  remembered: number;
  leftAddresses: string[];
  leftInterfaces: string[];
}

const workers = 6;
const config = { cniVersion: '1.1.0', name: 'pods', type: 'cadastre' };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function killOften(
  kills: number,
  onKill: (done: number) => void = () => undefined,
): Promise<KillFigures> {
  // Small, so that addresses are used again and again.
  const node = await TestNode.create(['10.78.0.0/27', 'fd78::/123']);
  const pods: Namespace[] = [];
  try {
    for (let i = 0; i < workers; i++) pods.push(await addNamespace());
    await node.startAgent();
    return await liveAndDie(node, pods, kills, onKill);
  } finally {
    await node.remove();
    for (const pod of pods) await deleteNamespace(pod);
  }
}

async function liveAndDie(
  node: TestNode,
  pods: readonly Namespace[],
  kills: number,
  onKill: (done: number) => void,
): Promise<KillFigures> {
  const held = new Map<string, string>();
  const figures = { kills, added: 0, refused: 0, remembered: 0 };
  const random = seededRandom(seed);
  let isOver = false;

  const live = async (pod: Namespace, worker: number) => {
    for (let turn = 0; !isOver; turn++) {
      const place = { containerId: `w${worker}t${turn}`, netns: pod.path };
      const { exit, answer } = await node.plugin('cadastre', 'ADD', place, config);
      const addresses: string[] =
        exit === 0 ? answer.ips.map((one: { address: string }) => one.address) : [];
      for (const address of addresses) {
        const other = held.get(address);
        if (other !== undefined) {
          throw new Error(`${address} is given to ${place.containerId}, and ${other} has it`);
        }
        held.set(address, place.containerId);
      }
      if (exit === 0) figures.added++;
      else figures.refused++;
      if (exit !== 0 && answer?.code !== 11) throw new Error(`ADD: ${JSON.stringify(answer)}`);
      await sleep(random() * 80);
      // A runtime calls DEL until it succeeds, also after an ADD that failed.
      for (const address of addresses) held.delete(address);
      for (;;) {
        const gone = await node.plugin('cadastre', 'DEL', place, config);
        if (gone.stderr.includes('is away')) figures.remembered++;
        if (gone.exit === 0) break;
        if (gone.answer?.code !== 11) throw new Error(`DEL: ${JSON.stringify(gone.answer)}`);
      }
      // A DEL that was only remembered leaves the interface in the pod until the agent is back.
      while (!isOver && (await ip(`-n ${pod.name} -br link`)).includes('eth0')) await sleep(20);
    }
  };
  const die = async () => {
    for (let done = 1; done <= kills; done++) {
      // Not before it has done something; then at any moment of what follows.
      const before = figures.added;
      while (figures.added === before && !isOver) await sleep(5);
      await sleep(random() * 150);
      if (isOver) return;
      await node.killAgent();
      await node.startAgent();
      onKill(done);
    }
  };
  // Whatever goes wrong ends all of it, and is told only when all of it has ended.
  const parts = [die(), ...pods.map(live)].map((part) =>
    part.finally(() => {
      isOver = true;
    }),
  );
  for (const outcome of await Promise.allSettled(parts)) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
  return { ...figures, ...(await whatIsLeft(node)) };
}

/** After the runtime's own list was compared, and the sweep had its time. */
async function whatIsLeft(
  node: TestNode,
): Promise<Pick<KillFigures, 'leftAddresses' | 'leftInterfaces'>> {
  const collect = { ...config, 'cni.dev/valid-attachments': [] };
  // An ADD that a kill cut off before it was wired, and that nobody deletes, expires after a minute.
  for (let waited = 0; ; waited++) {
    await node.plugin('cadastre', 'GC', { containerId: '', netns: '' }, collect);
    const leftAddresses = (await node.allocations()).flatMap(({ owner, addresses }) =>
      addresses.map(({ address }) => `${address} of ${owner}`),
    );
    const links = await ip(`-n ${node.namespace.name} -br link`);
    const leftInterfaces = links.match(/^cad\S+/gm) ?? [];
    if (leftAddresses.length + leftInterfaces.length === 0 || waited === 90) {
      return { leftAddresses, leftInterfaces };
    }
    await sleep(1000);
  }
}
