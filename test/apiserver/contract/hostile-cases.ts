/** What is sent to break a server: refused for the same reason, and the server goes on. */
import { expect } from 'vitest';
import type { Cases } from './contract.ts';
import { configMap, configMaps, crds, unique, widget, widgets } from './objects.ts';

const json = { type: 'application/json-patch+json' };
const apply = { type: 'application/apply-patch+yaml' };

/** A definition whose objects have one field, `spec`, of that schema. */
const definition = (spec: object) => {
  const plural = unique('probe').replaceAll('-', '');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.ex.dev` },
    spec: {
      group: 'ex.dev',
      scope: 'Cluster',
      names: { kind: `K${plural}`, plural },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
};

export const hostileCases: Cases = {
  'copies of copies in a JSON patch have a limit': async ({ call }) => {
    const name = unique('hostile');
    const path = `${widgets}/${name}`;
    await call('POST', widgets, widget(name, { size: 1, open: { a: { x: 'xxxxxxxxxx' } } }));
    const copies = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        op: 'copy',
        from: '/spec/open/a',
        path: `/spec/open/a/${at}`,
      }));
    const { status, body } = await call('PATCH', path, copies(40), json);
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(body.message).toContain(
      'the server rejected our request due to an error in our request',
    );
    expect((await call('GET', path)).body.spec.open).toEqual({ a: { x: 'xxxxxxxxxx' } });
    expect((await call('PATCH', path, copies(10), json)).status).toBe(200);
  },

  'a JSON patch has at most 10,000 operations': async ({ call }) => {
    const name = unique('hostile');
    await call('POST', configMaps, configMap(name, { a: '1' }));
    const tests = (count: number) =>
      Array.from({ length: count }, () => ({ op: 'test', path: '/data/a', value: '1' }));
    const many = await call('PATCH', `${configMaps}/${name}`, tests(10_001), json);
    expect(many).toMatchObject({
      status: 413,
      body: {
        reason: 'RequestEntityTooLarge',
        message:
          'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
      },
    });
    expect((await call('PATCH', `${configMaps}/${name}`, tests(10_000), json)).status).toBe(200);
  },

  'a body that is null is no object, or an empty one': async ({ call }) => {
    const name = unique('hostile');
    await call('POST', configMaps, configMap(name));
    await call('POST', widgets, widget(name, { size: 1 }));
    const path = `${configMaps}/${name}`;
    expect((await call('POST', configMaps, 'null')).status).toBe(422);
    expect((await call('POST', widgets, 'null')).status).toBe(400);
    expect((await call('PUT', path, 'null')).status).toBe(400);
    expect((await call('PUT', `${widgets}/${name}`, 'null')).status).toBe(400);
    expect((await call('PATCH', path, 'null')).status).toBe(400);
    expect((await call('PATCH', path, 'null', json)).status).toBe(200);
    expect((await call('PATCH', `${path}?fieldManager=m`, 'null', apply)).status).toBe(400);
    expect((await call('DELETE', path, 'null')).status).toBe(200);
  },

  'a definition without a spec, names or versions is refused': async ({ call }) => {
    const whole = definition({ type: 'object' });
    const { group, scope } = whole.spec;
    for (const spec of [null, {}, { group, scope }, { ...whole.spec, versions: null }]) {
      const { status, body } = await call('POST', crds, { ...whole, spec });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
    }
  },

  'what is nested too deeply is refused': async ({ call }) => {
    for (const text of ['['.repeat(100_000), `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`]) {
      const { status, body } = await call('POST', configMaps, text);
      expect([status, body.reason]).toEqual([400, 'BadRequest']);
      expect(body.message).toContain('exceeded max depth');
      expect((await call('PATCH', `${widgets}/x?fieldManager=m`, text, apply)).status).toBe(400);
    }
    const name = unique('hostile');
    const deep = JSON.parse(`${'{"a":'.repeat(900)}1${'}'.repeat(900)}`);
    expect((await call('POST', widgets, widget(name, { size: 1, open: deep }))).status).toBe(201);
    const path = `${widgets}/${name}`;
    const { body } = await call('GET', path);
    expect(body.spec.open).toEqual(deep);
    expect((await call('PATCH', path, { spec: { open: { b: deep } } })).status).toBe(200);
    expect((await call('DELETE', path)).status).toBe(200);
  },

  'a field that is called __proto__ is a field': async ({ call }) => {
    const name = unique('hostile');
    const text = `{"apiVersion":"ex.dev/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":{"size":1,"open":{"__proto__":{"polluted":"x"},"constructor":{"prototype":{"polluted":"x"}}}}}`;
    expect((await call('POST', widgets, text)).status).toBe(201);
    const path = `${widgets}/${name}`;
    const merge = '{"spec":{"open":{"__proto__":{"also":"y"}}},"__proto__":{"polluted":"x"}}';
    const { body } = await call('PATCH', path, merge);
    const open = Object.fromEntries(Object.entries(body.spec.open));
    expect(Object.keys(open).sort()).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(body.spec.open)).toContain('"also":"y"');
    expect(JSON.stringify(body.spec.open)).toContain('"polluted":"x"');
    const write = [{ op: 'add', path: '/metadata/__proto__/polluted', value: 'x' }];
    expect((await call('PATCH', path, write, json)).status).toBe(422);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  },

  'a watch may be asked to last for years; what is no number of seconds is refused': async ({
    call,
    watch,
  }) => {
    const name = unique('hostile');
    const only = `fieldSelector=metadata.name%3D${name}`;
    for (const seconds of ['99999999', '2147484', '0']) {
      const watching = await watch(`${configMaps}?watch=1&${only}&timeoutSeconds=${seconds}`);
      await call('POST', configMaps, configMap(name));
      await call('DELETE', `${configMaps}/${name}`);
      const events = await watching.until(2);
      expect(events.map(({ type }) => type)).toEqual(['ADDED', 'DELETED']);
      watching.stop();
    }
    // Less than none is over when it begins.
    await (await watch(`${configMaps}?watch=1&${only}&timeoutSeconds=-1`)).ended;
    for (const seconds of ['1.5', '1e3', 'x', '9223372036854775808', '-9223372036854775809']) {
      const path = `${configMaps}?watch=1&timeoutSeconds=${seconds}`;
      expect(await call('GET', path), seconds).toMatchObject({
        status: 400,
        body: { reason: 'BadRequest', message: expect.stringContaining('strconv.ParseInt') },
      });
    }
  },

  'a pattern is a regular expression of Go, or is refused': async ({ call }) => {
    for (const [pattern, why] of [
      ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
      ['(a)\\1', 'invalid escape sequence: `\\1`'],
      ['a{1001}', 'invalid repeat count: `{1001}`'],
      ['((a{100}){100}){100}', 'invalid repeat count: `{100}`'],
      ['[', 'missing closing ]: `[`'],
      ['a**', 'invalid nested repetition operator: `**`'],
    ] as const) {
      const { status, body } = await call('POST', crds, definition({ type: 'string', pattern }));
      expect(status, pattern).toBe(422);
      expect(body.message).toContain(
        `must be a valid regular expression, but isn't: error parsing regexp: ${why}`,
      );
    }
    const nested = { type: 'string', allOf: [{ pattern: '(?!a)' }] };
    expect((await call('POST', crds, definition(nested))).status).toBe(422);
    for (const pattern of ['(?i)^a+$', '\\p{Greek}', '[[:word:]]', '\\Qa.b', '(?P<n>a)']) {
      const made = await call(
        'POST',
        `${crds}?dryRun=All`,
        definition({ type: 'string', pattern }),
      );
      expect(made.status, pattern).toBe(201);
    }
    const rule = (source: string) =>
      definition({ type: 'string', maxLength: 99, 'x-kubernetes-validations': [{ rule: source }] });
    expect((await call('POST', crds, rule("self.matches('(?=a)')"))).status).toBe(422);
    expect((await call('POST', crds, rule("self.find('[') == ''"))).status).toBe(422);
  },

  'a pattern that would take a backtracking engine for ever is matched at once': async ({
    call,
  }) => {
    const crd = definition({
      type: 'object',
      properties: {
        plain: { type: 'string', pattern: '^(a+)+$' },
        ruled: {
          type: 'string',
          maxLength: 40,
          'x-kubernetes-validations': [{ rule: "self.matches('^(a|aa)+$')" }],
        },
      },
    });
    expect((await call('POST', crds, crd)).status).toBe(201);
    const { plural, kind } = crd.spec.names;
    const path = `/apis/ex.dev/v1/${plural}`;
    const object = (spec: object) => ({
      apiVersion: 'ex.dev/v1',
      kind,
      metadata: { name: 'x' },
      spec,
    });
    await expect.poll(async () => (await call('GET', path)).status).toBe(200);
    const many = 'a'.repeat(39);
    expect((await call('POST', path, object({ plain: `${many.repeat(100)}!` }))).status).toBe(422);
    expect((await call('POST', path, object({ ruled: `${many}!` }))).status).toBe(422);
    expect((await call('POST', path, object({ plain: many, ruled: many }))).status).toBe(201);
    await call('DELETE', `${crds}/${crd.metadata.name}`);
  },

  'a body that is said to be compressed is read as it stands': async ({ call }) => {
    // gzip of `{}`.
    const bytes = '\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3';
    expect((await call('POST', configMaps, bytes)).status).toBe(400);
  },
};
