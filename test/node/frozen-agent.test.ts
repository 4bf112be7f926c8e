/**
 * An agent that is stopped: its socket takes connections, and nobody answers. The
 * plugin gives up in time and says what it saw; what it gave up is not done later.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBuilt } from '../cli/built-command.ts';
import { addNamespace, deleteNamespace, sweepNamespaces } from '../kernel/namespaces.ts';
import { TestNode } from './test-node.ts';

let node: TestNode;
beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  node = await TestNode.create(['10.77.0.0/24']);
  await node.startAgent();
});
afterAll(async () => {
  node.signalAgent('SIGCONT');
  await node.remove();
  await sweepNamespaces({ isOver: true });
});

const config = { cniVersion: '1.1.0', name: 'pods', type: 'cadastre' };
const soon = { CADASTRE_CNI_SECONDS: '1' };

test('an ADD fails in time, a DEL is kept, and nothing is held when the agent goes on', async () => {
  const pod = await addNamespace();
  const place = { containerId: pod.name, netns: pod.path };
  node.signalAgent('SIGSTOP');
  const [added, looked] = await Promise.all([
    node.plugin('cadastre', 'ADD', place, config, soon),
    runBuilt(['status', '--socket', node.socketPath]),
  ]);
  expect(added).toMatchObject({ exit: 1, answer: { cniVersion: '1.1.0', code: 11 } });
  expect(added.answer.msg).toBe(`the cadastre agent at ${node.socketPath} does not answer`);
  expect(added.answer.details).toMatch(
    /^it took the connection and sent nothing for 1 s: its process is stopped or stuck \(/,
  );
  expect(looked).toMatchObject({ code: 1, stdout: '' });
  expect(looked.stderr).toContain(
    `cadastre: the agent at ${node.socketPath} does not answer: it took the connection and sent nothing for 10 s\n`,
  );
  const deleted = await node.plugin('cadastre', 'DEL', place, config, soon);
  expect(deleted).toMatchObject({ exit: 0, answer: undefined });
  expect(deleted.stderr).toContain('this DEL is kept on disk');
  node.signalAgent('SIGCONT');
  // It answers them in the order in which they came: the ADD, the question, the DEL, and this one.
  await expect.poll(() => node.allocations(), { timeout: 60_000 }).toEqual([]);
  const again = await node.plugin('cadastre', 'ADD', place, config);
  expect(again.exit, 'the namespace is as it was').toBe(0);
  expect((await node.plugin('cadastre', 'DEL', place, config)).exit).toBe(0);
  expect(await node.allocations()).toEqual([]);
  await deleteNamespace(pod);
});

test('an ADD that nobody waits for any more is not done, though no DEL comes', async () => {
  const pod = await addNamespace();
  const place = { containerId: pod.name, netns: pod.path };
  node.signalAgent('SIGSTOP');
  const added = await node.plugin('cadastre', 'ADD', place, config, soon);
  expect(added).toMatchObject({ exit: 1, answer: { code: 11 } });
  node.signalAgent('SIGCONT');
  // One more that is answered: what came before it has been read by then.
  const other = await addNamespace();
  const next = { containerId: other.name, netns: other.path };
  expect((await node.plugin('cadastre', 'ADD', next, config)).exit).toBe(0);
  expect((await node.allocations()).map(({ owner }) => owner)).toEqual([
    expect.stringContaining(other.name),
  ]);
  expect((await node.plugin('cadastre', 'DEL', next, config)).exit).toBe(0);
  await deleteNamespace(pod);
  await deleteNamespace(other);
});
