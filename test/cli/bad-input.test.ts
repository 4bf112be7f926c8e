/**
 * Bad input: one clear sentence with the place and the value, a non-zero exit,
 * and nothing on stdout.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runBuilt } from './built-command.ts';
import { run } from './collecting-terminal.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-bad-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function write(name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const node = 'apiVersion: v1\nkind: Node\nmetadata: { name: n1 }\n';
const pool = (spec: string) =>
  `apiVersion: cadastre.dev/v1alpha1\nkind: IPPool\nmetadata: { name: p }\nspec:\n${spec}`;
const block = (spec: string) =>
  `apiVersion: cadastre.dev/v1alpha1\nkind: NodeBlock\nmetadata: { name: b }\nspec: ${spec}\n`;

describe('files', () => {
  const cases: Array<[string, string | Uint8Array, string]> = [
    [
      'host bits in a pool',
      `${node}---\n${pool('  cidrs:\n    - 10.5.0.0/16\n    - 10.6.1.0/21\n  blockSize: { ipv4: 24 }\n')}`,
      ':11 (document 2): IPPool p: spec.cidrs[1] "10.6.1.0/21" has host bits set; the block is 10.6.0.0/21',
    ],
    [
      'a CIDR that is none',
      pool('  cidrs: [10.5.0.0/33]\n  blockSize: { ipv4: 24 }\n'),
      ':5 (document 1): IPPool p: spec.cidrs[0] "10.5.0.0/33" has a prefix length beyond 32',
    ],
    [
      'a block larger than the CIDR',
      pool('  cidrs: [10.5.0.0/26]\n  blockSize: { ipv4: 24 }\n'),
      ':6 (document 1): IPPool p: spec.blockSize.ipv4 is /24, larger than the CIDR 10.5.0.0/26',
    ],
    [
      'a block size that cannot be',
      pool('  cidrs: [10.5.0.0/16]\n  blockSize: { ipv4: 240 }\n'),
      ':6 (document 1): IPPool p: spec.blockSize.ipv4 is 240, not a whole number from 1 to 32',
    ],
    [
      'a family without a block size',
      pool('  cidrs: ["fd00::/48"]\n  blockSize: { ipv4: 24 }\n'),
      ':6 (document 1): IPPool p: spec.blockSize.ipv6 is missing, but spec.cidrs has fd00::/48',
    ],
    [
      'CIDRs of one pool that overlap',
      pool('  cidrs: [10.0.0.0/8, 10.5.0.0/16]\n  blockSize: { ipv4: 24 }\n'),
      ':5 (document 1): IPPool p: spec.cidrs[1] 10.5.0.0/16 overlaps 10.0.0.0/8',
    ],
    [
      'a selector with a slip',
      pool(
        '  cidrs: [10.0.0.0/8]\n  blockSize: { ipv4: 24 }\n  nodeSelector: { matchLabel: { a: b } }\n',
      ),
      ':7 (document 1): IPPool p: spec.nodeSelector.matchLabel is no field of a label selector',
    ],
    [
      'a field with a slip',
      pool('  cidrs: [10.0.0.0/8]\n  blockSize: { ipv4: 24 }\n  nodeSelectors: {}\n'),
      ':7 (document 1): IPPool p: spec.nodeSelectors is no field of an IPPool',
    ],
    [
      'another version',
      'apiVersion: cadastre.dev/v1\nkind: IPPool\nmetadata: { name: p }\n',
      ':1 (document 1): IPPool p: apiVersion is "cadastre.dev/v1", not "cadastre.dev/v1alpha1"',
    ],
    [
      'a NodeBlock whose cidr is junk',
      block('{ cidr: 10.5.113.0.24, pool: p, node: { name: n, uid: u } }'),
      ':4 (document 1): NodeBlock b: spec.cidr "10.5.113.0.24" is not an IPv4 or IPv6 CIDR',
    ],
    [
      'a NodeBlock of nobody',
      block('{ cidr: 10.5.113.0/24, pool: p }'),
      ':4 (document 1): NodeBlock b: spec.node is missing, but spec.phase is Active',
    ],
    [
      'a NodeBlock in no known phase',
      block('{ cidr: 10.5.113.0/24, pool: p, node: { name: n, uid: u }, phase: Gone }'),
      ':4 (document 1): NodeBlock b: spec.phase is "Gone", not one of Active, Draining, Cooling, Guard',
    ],
    [
      'a NodeBlock that cools since never',
      block('{ cidr: 10.5.113.0/24, pool: p, node: { name: n, uid: u }, phase: Cooling }'),
      ':4 (document 1): NodeBlock b: spec.coolingSince is missing, but spec.phase is Cooling',
    ],
    [
      'a label that YAML takes for a number',
      'apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  labels:\n    example.com/rack: 83\n',
      ':6 (document 1): Node n1: metadata.labels["example.com/rack"] is 83, not a string',
    ],
    [
      'podCIDRs that are no list of strings',
      'apiVersion: v1\nkind: Node\nmetadata: { name: n1 }\nspec:\n  podCIDRs: [10.0]\n',
      ':5 (document 1): Node n1: spec.podCIDRs[0] is 10, not a string',
    ],
    [
      'an object without a name',
      'apiVersion: v1\nkind: Node\nmetadata: {}\n',
      ':3 (document 1): Node without a name: metadata.name is missing',
    ],
    [
      'the same object twice',
      `${node}---\n${node}`,
      ':5 (document 2): Node n1 is also in FILE:1 (document 1)',
    ],
    [
      'a NodeBlock that is not named after its block',
      block('{ cidr: 10.5.1.0/24, pool: p, node: { name: n, uid: u } }'),
      ':3 (document 1): NodeBlock b: metadata.name is "b", but the NodeBlock of 10.5.1.0/24 is 10-5-1-0-24',
    ],
    [
      'a LoadBalancerPool with a slip',
      'apiVersion: cadastre.dev/v1alpha1\nkind: LoadBalancerPool\nmetadata: { name: web }\nspec:\n  addresses: [192.0.2.0/28]\n  serviceSelectors: {}\n',
      ':6 (document 1): LoadBalancerPool web: spec.serviceSelectors is no field of a LoadBalancerPool',
    ],
    [
      'an item of a list',
      JSON.stringify(
        {
          apiVersion: 'v1',
          kind: 'NodeList',
          items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b', labels: { a: 1 } } }],
        },
        null,
        1,
      ),
      ':14 (document 1, item 2): Node b: metadata.labels["a"] is 1, not a string',
    ],
    [
      'a list without items',
      'apiVersion: v1\nkind: List\nitems: 5\n',
      ':1 (document 1): items of the List is no list',
    ],
    [
      'a file of words',
      'hello, world\n',
      ':1 (document 1): not a Kubernetes object: it is a single string, not a map with apiVersion and kind',
    ],
    [
      'YAML of something else',
      'replicas: 3\n',
      ':1 (document 1): not a Kubernetes object: it has no apiVersion',
    ],
    [
      'a bare list',
      '[{"kind": "Node"}]',
      ':1 (document 1): not a Kubernetes object: it is a bare list, not a map with apiVersion and kind',
    ],
    [
      'broken YAML',
      `${node}---\nkind: [\n`,
      ':6:1 (document 2): not YAML or JSON: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    [
      'JSON that was cut off',
      '{\n  "kind": "Node",\n  "metadata": {\n',
      ':4:1 (document 1): not YAML or JSON: Flow map in block collection must be sufficiently indented and end with a }',
    ],
    ['no text at all', new Uint8Array([0xff, 0xfe, 0x00, 0x80]), ': not text in UTF-8'],
  ];
  test.each(cases)('%s', async (_, content, sentence) => {
    const path = write('input.yaml', content);
    const { code, stdout, stderr } = await run(['plan', '--from', path]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.replaceAll(path, 'FILE')).toBe(`cadastre: FILE${sentence}\n`);
  });

  test('every fault is told, each in its own line, until it is enough', async () => {
    const many = Array.from({ length: 30 }, (_, at) => `kind: K${at}\n`).join('---\n');
    const { stderr } = await run(['plan', '--from', write('many.yaml', many)]);
    const lines = stderr.trim().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines[4]).toMatch(/many\.yaml:9 \(document 5\): not a Kubernetes object/);
    expect(lines[20]).toBe('cadastre: and 10 more');
  });

  test('a good file beside a bad one does not help', async () => {
    const argv = ['--from', write('good.yaml', node), '--from', write('bad.yaml', 'x')];
    const { code, stdout } = await run(['nodes', ...argv]);
    expect([code, stdout]).toEqual([1, '']);
  });
});

describe('paths', () => {
  test.each([
    ['nothing there', () => join(dir, 'nope'), 'no such file or folder'],
    [
      'a way through a file',
      () => join(write('good.yaml', node), 'x'),
      'a part of the path is a file, not a folder',
    ],
    ['an empty file', () => write('empty.yaml', '# nothing\n'), 'no Kubernetes object in there'],
    [
      'an empty folder',
      () => {
        mkdirSync(join(dir, 'hollow'), { recursive: true });
        return join(dir, 'hollow');
      },
      'no Kubernetes object in there',
    ],
  ])('%s', async (_, path, words) => {
    const { code, stdout, stderr } = await run(['plan', '--from', path()]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(`cadastre: --from ${path()}: ${words}\n`);
  });

  test('a folder is read through, by name, without what is hidden or something else', async () => {
    const tree = join(dir, 'tree');
    mkdirSync(join(tree, 'b', '.git'), { recursive: true });
    const put = (path: string, name: string) =>
      writeFileSync(join(tree, path), node.replace('n1', name));
    put('c.yml', 'third');
    put('a.json', 'first');
    put('b/x.yaml', 'second');
    put('b/.git/y.yaml', 'hidden');
    writeFileSync(join(tree, 'README.md'), 'words');
    symlinkSync(tree, join(tree, 'b', 'loop'));
    const { stdout, stderr } = await run([
      'nodes',
      '--from',
      tree,
      '--from',
      tree,
      '-o',
      'name',
      '-v',
    ]);
    expect(stdout).toBe('node/first\nnode/second\nnode/third\n');
    expect(stderr).toBe('read 3 objects of 3 files\n');
  });
});

describe('the built command', () => {
  test('says it on stderr, with exit code 1', async () => {
    const { code, stdout, stderr } = await runBuilt(['plan', '--from', '-'], { stdin: 'hello' });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      'cadastre: stdin:1 (document 1): not a Kubernetes object: it is a single string, not a map with apiVersion and kind\n',
    );
  });

  test('an unreadable kubeconfig', async () => {
    const { code, stdout, stderr } = await runBuilt(['plan', '--kubeconfig', join(dir, 'nope')]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`cadastre: The kubeconfig ${join(dir, 'nope')} could not be read`);
  });

  test('a kubeconfig that is none', async () => {
    const path = write('kubeconfig', 'hello');
    const { code, stdout, stderr } = await runBuilt(['nodes'], { env: { KUBECONFIG: path } });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(path);
  });

  test('an API server that is not there', async () => {
    const path = write(
      'kubeconfig',
      JSON.stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'x' } }],
        clusters: [{ name: 'x', cluster: { server: 'http://127.0.0.1:9' } }],
      }),
    );
    const { code, stdout, stderr } = await runBuilt(['plan', '--kubeconfig', path]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('got no answer');
    expect(stderr).not.toContain('    at ');
  });

  test.each([
    [['plan', '--ipam', 'magic'], '--ipam=magic'],
    [['plan', '--nonsense'], "unknown option '--nonsense'"],
    [['plan', '-o', 'xml'], "'xml' is invalid"],
    [['pla'], "unknown command 'pla'"],
    [['explain'], "missing required argument 'what'"],
    [['explain', '10.5.83.1/24', '--from', '-'], 'has host bits set'],
  ])('%j is wrong usage: exit code 2', async (argv, words) => {
    const { code, stdout, stderr } = await runBuilt(argv, { stdin: node });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(words);
    expect(stderr).toMatch(/^cadastre: /);
  });
});
