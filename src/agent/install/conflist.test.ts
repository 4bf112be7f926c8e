import { expect, test } from 'vitest';
import { chooseConflist, conflistText, isOurConflist } from './conflist.ts';

const of = (...args: Parameters<typeof chooseConflist>) =>
  JSON.parse(conflistText(chooseConflist(...args))) as {
    cniVersion: string;
    cniVersions?: string[];
    plugins: Array<{ type: string }>;
  };
const portmap111 = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0'];

test('a runtime of any age finds a version that it knows, and no plugin is asked for one that it does not', () => {
  expect(of({ isThere: true, versions: [...portmap111, '1.1.0'] })).toMatchObject({
    cniVersion: '1.0.0',
    cniVersions: ['1.0.0', '1.1.0'],
    plugins: [{ type: 'cadastre' }, { type: 'portmap' }],
  });
  const older = of({ isThere: true, versions: portmap111 });
  expect([older.cniVersion, older.cniVersions]).toEqual(['1.0.0', undefined]);
  const oldest = of({ isThere: true, versions: portmap111.slice(0, -1) });
  expect([oldest.cniVersion, oldest.cniVersions]).toEqual(['0.4.0', undefined]);
});

test('a portmap that says nothing gets what always works; one that knows none of ours is left out', () => {
  const silent = of({ isThere: true });
  expect([silent.cniVersion, silent.cniVersions, silent.plugins.length]).toEqual([
    '1.0.0',
    undefined,
    2,
  ]);
  const strange = chooseConflist({ isThere: true, versions: ['0.2.0'] });
  expect(strange.hasPortmap).toBe(false);
  expect(strange.why).toContain('portmap is left out');
});

test('without portmap the chain goes without it, and says what is lost', () => {
  const choice = chooseConflist({ isThere: false });
  expect(of({ isThere: false }).plugins).toEqual([{ type: 'cadastre' }]);
  expect(choice.why).toBe(
    'CNI 1.0.0, and 1.1.0 for runtimes that know it; without portmap, so a hostPort of a container has no effect',
  );
});

test('a version that the user asks for is the only one', () => {
  const asked = of({ isThere: true, versions: portmap111 }, '1.1.0');
  expect([asked.cniVersion, asked.cniVersions]).toEqual(['1.1.0', undefined]);
});

test('what we wrote is known by its text, also what releases before this one wrote', () => {
  // As the first release shipped it.
  const first = `{
  "cniVersion": "1.1.0",
  "name": "pods",
  "plugins": [
    { "type": "cadastre" },
    { "type": "portmap", "capabilities": { "portMappings": true } }
  ]
}
`;
  expect(isOurConflist(first)).toBe(true);
  expect(isOurConflist(conflistText(chooseConflist({ isThere: false })))).toBe(true);
  expect(isOurConflist(first.replace('"pods"', '"mine"'))).toBe(false);
});
