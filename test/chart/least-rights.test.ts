/** Each profile, and each value, has the rights that it needs and no others. */
import { describe, expect, test } from 'vitest';
import { profiles, switches } from './helm.ts';
import { argsOf, named, type Rendered, render } from './rendered.ts';

describe('rights', () => {
  const rulesFor = (objects: Rendered[], resource: string) =>
    objects
      .flatMap(({ rules = [] }) => rules)
      .filter(({ resources }) => resources.includes(resource));
  const verbsFor = (objects: Rendered[], resource: string) =>
    [...new Set(rulesFor(objects, resource).flatMap(({ verbs }) => verbs))].sort();

  test('nobody reads a Secret, and no rule has a wildcard', async () => {
    for (const profile of profiles) {
      for (const values of Object.values(switches)) {
        const objects = await render({ ...values, profile });
        const rules = objects.flatMap((one) => one.rules ?? []);
        expect(rulesFor(objects, 'secrets')).toEqual([]);
        expect(JSON.stringify(rules)).not.toContain('*');
      }
    }
  });

  test('to create resource definitions only where the operator registers them', async () => {
    const read = ['get'];
    expect(verbsFor(await render({}), 'customresourcedefinitions')).toEqual(read);
    const managing = await render({ crds: { managedBy: 'operator' } });
    const verbs = ['create', 'get', 'update'];
    expect(verbsFor(managing, 'customresourcedefinitions')).toEqual(verbs);
    expect(named(managing).filter((name) => name.startsWith('CustomResource'))).toEqual([]);
    expect(argsOf(await render({}), 'operator')).toContain('--crds=await');
    expect(argsOf(managing, 'operator').join()).not.toContain('--crds');
  });

  test('to write CiliumNodes, and to patch Nodes, only where blocks are copied there', async () => {
    const beside = (more: object) => render({ profile: 'beside-cilium', ...more });
    const read = ['get', 'list', 'watch'];
    const annotated = await beside({});
    expect(verbsFor(annotated, 'ciliumnodes')).toEqual(read);
    expect(verbsFor(annotated, 'nodes')).toEqual([...read.slice(0, 2), 'patch', 'watch']);
    const copied = await beside({ ipam: { mode: 'cluster-pool' } });
    expect(verbsFor(copied, 'ciliumnodes')).toEqual(['get', 'list', 'patch', 'watch']);
    expect(verbsFor(copied, 'nodes')).toEqual(read);
    // The mode is in the ConfigMap of Cilium: it may be one that writes to CiliumNodes.
    const asCilium = await beside({ ipam: { ciliumConfig: 'kube-system/cilium-config' } });
    expect(verbsFor(asCilium, 'ciliumnodes')).toEqual(['get', 'list', 'patch', 'watch']);
    expect(verbsFor(asCilium, 'nodes')).toEqual(read);
    expect(argsOf(asCilium, 'operator')).toContain('--cilium-config=kube-system/cilium-config');
  });

  test('of agents to patch Nodes only for taintWhenFull', async () => {
    const ofAgent = (objects: Rendered[]) =>
      objects.filter(
        ({ kind, metadata }) => `${kind} ${metadata.name}` === 'ClusterRole cadastre-agent',
      );
    expect(verbsFor(ofAgent(await render({})), 'nodes')).not.toContain('patch');
    const tainting = await render({ agent: { taintWhenFull: true } });
    expect(verbsFor(ofAgent(tainting), 'nodes')).toContain('patch');
  });

  test('to read a ConfigMap only if one is named', async () => {
    const names = (objects: Rendered[]) =>
      named(objects).filter((name) => name.includes('bgp-config'));
    expect(names(await render({ bgp: { configMap: '' } }))).toEqual([]);
    const [role] = (await render({ bgp: { configMap: 'network/bgp' } })).filter(
      ({ metadata }) => metadata.name === 'cadastre-agent-bgp-config',
    );
    expect(role?.metadata.namespace).toBe('network');
  });
});
