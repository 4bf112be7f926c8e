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
      await expect.poll(() => text, { timeout: 30_000 }).toBe('1\n');
      await server.call('PATCH', `${widgets}/${name}`, { spec: { size: 2 } });
      await expect.poll(() => text, { timeout: 30_000 }).toBe('1\n2\n');
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
};
