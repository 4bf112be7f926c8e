import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ensureKubeParts } from '../../../scripts/parts.mjs';
import type { Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { unique, widgets } from './objects.ts';

const manifest = (name: string, size: number, more = '') => `apiVersion: ex.dev/v1
kind: Widget
metadata:
  name: ${name}
spec:
  size: ${size}
${more}---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
data:
  size: "${size}"
`;

async function must({ kubectl }: Server, args: string[], stdin?: string): Promise<string> {
  const { exitCode, stdout, stderr } = await kubectl(args, stdin);
  expect(exitCode, `kubectl ${args.join(' ')}: ${stderr}`).toBe(0);
  return stdout;
}

export const kubectlCases: Cases = {
  'apply creates, leaves alone, configures': async (server) => {
    const name = unique('kubectl');
    const apply = (text: string) => must(server, ['apply', '-f', '-'], text);
    expect(await apply(manifest(name, 1))).toBe(
      `widget.ex.dev/${name} created\nconfigmap/${name} created\n`,
    );
    expect(await apply(manifest(name, 1))).toBe(
      `widget.ex.dev/${name} unchanged\nconfigmap/${name} unchanged\n`,
    );
    expect(await apply(manifest(name, 2))).toBe(
      `widget.ex.dev/${name} configured\nconfigmap/${name} configured\n`,
    );
    const shown = await must(server, ['get', 'wd', name, '-o', 'jsonpath={.spec.size}']);
    expect(shown).toBe('2');
  },

  'apply takes away what the file does not say any more': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 1, '  secret: s\n'));
    await must(server, ['apply', '-f', '-'], manifest(name, 1));
    const { body } = await server.call('GET', `${widgets}/${name}`);
    expect(body.spec).toEqual({ size: 1, mode: 'a' });
  },

  'apply on the server side, and over what was applied from the client': async (server) => {
    const name = unique('kubectl');
    const args = ['apply', '--server-side', '-f', '-'];
    expect(await must(server, args, manifest(name, 1))).toContain(
      `widget.ex.dev/${name} serverside-applied`,
    );
    const other = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(other, 1));
    expect(await must(server, args, manifest(other, 2))).toContain('serverside-applied');
    const refused = await server.kubectl(
      ['apply', '--server-side', '--field-manager=rival', '-f', '-'],
      manifest(other, 3),
    );
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain('Apply failed with 1 conflict: conflict with "kubectl"');
  },

  'apply refuses unknown fields before anything is written': async (server) => {
    const name = unique('kubectl');
    const { exitCode, stderr } = await server.kubectl(
      ['apply', '-f', '-'],
      manifest(name, 1, '  bogus: 1\n'),
    );
    expect(exitCode).toBe(1);
    expect(stderr).toContain('unknown field "spec.bogus"');
    expect((await server.call('GET', `${widgets}/${name}`)).status).toBe(404);
  },

  'a refusal reaches the reader whole': async (server) => {
    const { exitCode, stderr } = await server.kubectl(
      ['apply', '-f', '-'],
      manifest(unique('k'), 0),
    );
    expect(exitCode).toBe(1);
    expect(stderr).toContain('spec: Invalid value: size must be positive');
  },

  'get shows columns, wide ones and names': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 4, '  tags: [aa]\n'));
    const table = await must(server, ['get', 'widgets', name]);
    expect(table).toMatch(/^NAME +SIZE +TAGS +UP +AGE\n/);
    expect(table).toMatch(new RegExp(`^${name} +4 +\\["aa"\\] +\\d+s$`, 'm'));
    expect(await must(server, ['get', 'wd', name, '-o', 'wide'])).toMatch(
      /^NAME +SIZE +TAGS +UP +FIRST +AGE\n/,
    );
    expect(await must(server, ['get', 'wd', name, '-o', 'name'])).toBe(`widget.ex.dev/${name}\n`);
    const missing = await server.kubectl(['get', 'wd', 'nobody']);
    expect(missing.stderr).toBe(
      'Error from server (NotFound): widgets.ex.dev "nobody" not found\n',
    );
  },

  'get -w tells of changes as they happen': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 1));
    const binary = join(await ensureKubeParts(), 'kubectl');
    const child = spawn(binary, [
      `--kubeconfig=${server.kubeconfigPath}`,
      'get',
      'wd',
      name,
      '-w',
      '-o',
      'jsonpath={.spec.size}{"\\n"}',
    ]);
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
    });
    try {
      await expect.poll(() => text).toBe('1\n');
      await server.call('PATCH', `${widgets}/${name}`, { spec: { size: 2 } });
      await expect.poll(() => text).toBe('1\n2\n');
    } finally {
      child.kill();
    }
  },

  'patch, label, annotate, scale of trust': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 1));
    await must(server, ['patch', 'wd', name, '--type=merge', '-p', '{"spec":{"size":5}}']);
    const path = '[{"op":"replace","path":"/spec/size","value":6}]';
    await must(server, ['patch', 'wd', name, '--type=json', '-p', path]);
    await must(server, ['patch', 'cm', name, '-p', '{"data":{"x":"y"}}']);
    expect(await must(server, ['label', 'wd', name, 'rack=83'])).toBe(
      `widget.ex.dev/${name} labeled\n`,
    );
    await must(server, ['annotate', 'wd', name, 'note=hello']);
    const { body } = await server.call('GET', `${widgets}/${name}`);
    expect(body.spec.size).toBe(6);
    expect(body.metadata.labels).toEqual({ rack: '83' });
    expect(body.metadata.annotations.note).toBe('hello');
    const status = '{"status":{"ready":1}}';
    await must(server, ['patch', 'wd', name, '--subresource=status', '--type=merge', '-p', status]);
    expect((await server.call('GET', `${widgets}/${name}`)).body.status).toEqual({ ready: 1 });
  },

  'delete waits until it is gone': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 1));
    expect(await must(server, ['delete', 'wd', name])).toContain(`widget.ex.dev "${name}" deleted`);
    expect((await server.call('GET', `${widgets}/${name}`)).status).toBe(404);
  },

  'explain tells the fields of custom and built-in kinds': async (server) => {
    const own = await must(server, ['explain', 'widget.spec']);
    expect(own).toContain('What is wanted of a widget.');
    expect(own).toMatch(/size\t<integer> -required-/);
    const parts = await must(server, ['explain', 'wd.spec.parts']);
    expect(parts).toContain('FIELD: parts <[]Object>');
    const node = await must(server, ['explain', 'node.spec']);
    expect(node).toMatch(/podCIDRs\t<\[\]string>/);
  },

  'create, for the kinds that it sends in protobuf': async (server) => {
    const name = unique('kubectl');
    await must(server, ['create', 'namespace', name]);
    await must(server, ['create', 'configmap', 'c', '-n', name, '--from-literal=a=b']);
    await must(server, ['create', 'secret', 'generic', 's', '-n', name, '--from-literal=k=v']);
    await must(server, ['create', 'serviceaccount', 'sa', '-n', name]);
    const place = `/api/v1/namespaces/${name}`;
    expect((await server.call('GET', `${place}/configmaps/c`)).body.data).toEqual({ a: 'b' });
    const { body } = await server.call('GET', `${place}/secrets/s`);
    expect([body.type, body.data]).toEqual(['Opaque', { k: 'dg==' }]);
    expect((await server.call('GET', `${place}/serviceaccounts/sa`)).status).toBe(200);
    const twice = await server.kubectl(['create', 'namespace', name]);
    expect(twice.stderr).toBe(
      `Error from server (AlreadyExists): namespaces "${name}" already exists\n`,
    );
  },

  'describe, drain and taint a node': async (server) => {
    const name = unique('kubectl');
    await must(
      server,
      ['apply', '-f', '-'],
      `apiVersion: v1\nkind: Node\nmetadata:\n  name: ${name}\n`,
    );
    expect(await must(server, ['describe', 'node', name])).toMatch(
      new RegExp(`^Name: +${name}$`, 'm'),
    );
    expect(await must(server, ['drain', name])).toContain(`node/${name} drained`);
    await must(server, ['uncordon', name]);
    await must(server, ['taint', 'node', name, 'a=b:NoSchedule']);
    const { body } = await server.call('GET', `/api/v1/nodes/${name}`);
    // The real one adds that a new node is not ready, until a controller takes it away.
    expect(body.spec.taints).toContainEqual({ key: 'a', value: 'b', effect: 'NoSchedule' });
    expect(body.spec.unschedulable).toBeUndefined();
  },

  'diff, cordon, api-resources and auth': async (server) => {
    const name = unique('kubectl');
    await must(
      server,
      ['apply', '-f', '-'],
      `apiVersion: v1\nkind: Node\nmetadata:\n  name: ${name}\n`,
    );
    expect(await must(server, ['cordon', name])).toBe(`node/${name} cordoned\n`);
    expect(await must(server, ['get', 'node', name])).toMatch(/SchedulingDisabled/);
    expect(await must(server, ['api-resources', '--api-group=ex.dev'])).toMatch(
      /^widgets +wd +ex\.dev\/v1 +true +Widget$/m,
    );
    expect(await must(server, ['auth', 'can-i', 'create', 'nodes'])).toBe('yes\n');
    expect(
      await must(server, ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']),
    ).toBe('admin');
  },

  'apply of a List, as get -o yaml writes it': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 1));
    const only = ['--field-selector', `metadata.name=${name}`];
    const listed = await must(server, ['get', 'cm', ...only, '-o', 'yaml']);
    expect(listed).toContain('kind: List');
    await must(server, ['delete', 'cm', name]);
    expect(await must(server, ['apply', '-f', '-'], listed)).toBe(`configmap/${name} created\n`);
  },

  'apply refuses an unknown field in a change too, and names it': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 1));
    const { exitCode, stderr } = await server.kubectl(
      ['apply', '-f', '-'],
      manifest(name, 2, '  bogus: 1\n'),
    );
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^The request is invalid: patch: Invalid value: /);
    expect(stderr).toContain('strict decoding error: unknown field "spec.bogus"');
    const args = ['apply', '--server-side', '-f', '-'];
    const applied = await server.kubectl(args, manifest(name, 2, '  bogus: 1\n'));
    expect(applied.stderr).toContain('.spec.bogus: field not declared in schema');
    expect((await server.call('GET', `${widgets}/${name}`)).body.spec.size).toBe(1);
  },

  'apply goes on from the client side after one on the server side': async (server) => {
    const name = unique('kubectl');
    const apply = (text: string, ...more: string[]) =>
      must(server, ['apply', ...more, '-f', '-'], text);
    await apply(manifest(name, 1, '  secret: s\n'));
    await apply(manifest(name, 1, '  secret: s\n  tags: [aa]\n'), '--server-side');
    await apply(manifest(name, 1));
    const { body } = await server.call('GET', `${widgets}/${name}`);
    expect(body.spec).toEqual({ size: 1, mode: 'a' });
  },

  'edit, replace, diff and a dry run': async (server) => {
    const name = unique('kubectl');
    await must(server, ['apply', '-f', '-'], manifest(name, 1));
    const differs = await server.kubectl(['diff', '-f', '-'], manifest(name, 2));
    expect([differs.exitCode, differs.stdout]).toEqual([
      1,
      expect.stringMatching(/^- {2}size: 1$\n^\+ {2}size: 2$/m),
    ]);
    expect((await server.kubectl(['diff', '-f', '-'], manifest(name, 1))).exitCode).toBe(0);
    const dry = await must(server, ['apply', '--dry-run=server', '-f', '-'], manifest(name, 2));
    expect(dry).toContain(`widget.ex.dev/${name} configured (server dry run)`);
    expect((await server.call('GET', `${widgets}/${name}`)).body.spec.size).toBe(1);
    const replaced = await must(server, ['replace', '-f', '-'], manifest(name, 3));
    expect(replaced).toContain(`widget.ex.dev/${name} replaced`);
    const edited = await server.kubectl(['edit', 'wd', name], undefined, {
      KUBE_EDITOR: 'sed -i s/size:.3/size:\\ 4/',
    });
    expect([edited.exitCode, edited.stdout]).toEqual([0, `widget.ex.dev/${name} edited\n`]);
    expect((await server.call('GET', `${widgets}/${name}`)).body.spec.size).toBe(4);
  },

  'get in pages, by labels, by fields and as a table that is watched': async (server) => {
    const name = unique('kubectl');
    const many = [1, 2, 3].map((at) => manifest(`${name}-${at}`, at)).join('---\n');
    await must(server, ['create', '-f', '-'], many);
    await must(server, ['label', 'cm', `${name}-1`, `${name}-2`, `of=${name}`]);
    const byLabel = ['get', 'cm', '-l', `of=${name}`, '--chunk-size=1', '-o', 'name'];
    expect(await must(server, byLabel)).toBe(`configmap/${name}-1\nconfigmap/${name}-2\n`);
    const byField = ['get', 'cm', '--field-selector', `metadata.name!=${name}-1`, '-o', 'name'];
    expect((await must(server, byField)).split('\n')).not.toContain(`configmap/${name}-1`);
    const refused = await server.kubectl(['get', 'cm', '--field-selector', 'data.a=b']);
    expect(refused.stderr).toContain('"data.a" is not a known field selector: only');
    const child = spawn(join(await ensureKubeParts(), 'kubectl'), [
      `--kubeconfig=${server.kubeconfigPath}`,
      ...['get', 'wd', '-w', '--field-selector', `metadata.name=${name}-1`],
    ]);
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
    });
    const rows = () => text.split('\n').map((row) => row.split(/ +/).slice(0, 2).join(' '));
    try {
      await expect.poll(rows).toContain(`${name}-1 1`);
      await server.call('PATCH', `${widgets}/${name}-1`, { spec: { size: 2 } });
      await expect.poll(rows).toContain(`${name}-1 2`);
      expect(rows()[0]).toBe('NAME SIZE');
      expect(rows().filter((row) => row === 'NAME SIZE')).toHaveLength(1);
    } finally {
      child.kill();
    }
  },

  'create of workloads, Services and roles, which it sends in protobuf too': async (server) => {
    const name = unique('kubectl');
    await must(server, ['create', 'namespace', name]);
    const create = (...args: string[]) => must(server, ['create', ...args, '-n', name]);
    await create('deployment', 'web', '--image=a/web', '--port=8080', '--replicas=3');
    await create('service', 'loadbalancer', 'web', '--tcp=80:8080', '--tcp=443');
    await create('poddisruptionbudget', 'web', '--selector=app=web', '--min-available=50%');
    await create('role', 'r', '--verb=get,list', '--resource=pods,deployments.apps');
    await create('rolebinding', 'b', '--role=r', '--user=u', '--serviceaccount=x:y');
    const get = async (group: string, plural: string, which: string) =>
      (await server.call('GET', `${group}/v1/namespaces/${name}/${plural}/${which}`)).body;
    const { spec } = await get('/apis/apps', 'deployments', 'web');
    expect(spec).toMatchObject({ replicas: 3, selector: { matchLabels: { app: 'web' } } });
    expect(spec.template.spec.containers[0]).toMatchObject({
      image: 'a/web',
      ports: [{ containerPort: 8080 }],
    });
    const service = await get('/api', 'services', 'web');
    expect(service.spec).toMatchObject({ type: 'LoadBalancer', selector: { app: 'web' } });
    expect(service.spec.ports).toMatchObject([
      { name: '80-8080', port: 80, targetPort: 8080, protocol: 'TCP' },
      { name: '443', port: 443, targetPort: 443 },
    ]);
    const budget = await get('/apis/policy', 'poddisruptionbudgets', 'web');
    expect(budget.spec).toEqual({
      minAvailable: '50%',
      selector: { matchLabels: { app: 'web' } },
    });
    const rbac = '/apis/rbac.authorization.k8s.io';
    expect((await get(rbac, 'roles', 'r')).rules).toEqual([
      { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['get', 'list'], apiGroups: ['apps'], resources: ['deployments'] },
    ]);
    expect((await get(rbac, 'rolebindings', 'b')).roleRef).toEqual({
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'Role',
      name: 'r',
    });
    const wide = async (kind: string) =>
      (await must(server, ['get', kind, '-n', name, '-o', 'wide'])).trimEnd().split('\n');
    expect((await wide('deploy'))[1]).toMatch(/^web +0\/3 +0 +0 +\S+ +web +a\/web +app=web$/);
    expect((await wide('pdb'))[1]).toMatch(/^web +50% +N\/A +0 /);
    const [heads, row] = await wide('rolebinding');
    expect(heads).toMatch(/^NAME +ROLE +AGE +USERS +GROUPS +SERVICEACCOUNTS$/);
    expect(row).toMatch(/^b +Role\/r +\S+ +u +x\/y$/);
  },

  'events, as they are shown and as they are asked for': async (server) => {
    const name = unique('kubectl');
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: 'default' },
      involvedObject: { kind: 'Node', name, apiVersion: 'v1' },
      reason: 'Tried',
      message: 'it was tried',
      type: 'Normal',
      source: { component: 'me' },
      count: 3,
      firstTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
      lastTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
    };
    await must(server, ['create', '-f', '-'], JSON.stringify(event));
    const only = ['--field-selector', `involvedObject.name=${name}`];
    const [heads, row] = (await must(server, ['get', 'events', ...only, '-o', 'wide'])).split('\n');
    expect(heads).toMatch(
      /^LAST SEEN +TYPE +REASON +OBJECT +SUBOBJECT +SOURCE +MESSAGE +FIRST SEEN +COUNT +NAME$/,
    );
    expect(row).toMatch(
      new RegExp(`Normal +Tried +node/${name} +me +it was tried +\\S+ +3 +${name}$`),
    );
    const asked = await must(server, ['events', '--for', `node/${name}`, '--no-headers']);
    expect(asked).toMatch(/Tried .* it was tried\n$/);
  },

  'pods in full width, and health in full': async (server) => {
    const name = unique('kubectl');
    await must(server, [
      'run',
      name,
      '--image=a',
      '--overrides={"spec":{"automountServiceAccountToken":false}}',
    ]);
    const wide = await must(server, ['get', 'pod', name, '-o', 'wide']);
    expect(wide).toMatch(
      /^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\n/,
    );
    expect(wide).toMatch(/ <none> +<none> +<none> +<none>\n$/);
    const health = await must(server, ['get', '--raw', '/readyz?verbose']);
    expect(health).toMatch(/^\[\+\]ping ok$/m);
    expect(health).toMatch(/^readyz check passed$/m);
  },
};
