/** Every flag of the programs can be set by a value, and the chart sets none that is unknown. */
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { cadastreProgram } from '../world/operator-process.ts';
import { profiles, switches } from './helm.ts';
import { argsOf, render } from './rendered.ts';

describe('flags', () => {
  const programs = { operator: 'operator', agent: 'agent', console: 'console' } as const;
  const asked = new Map<string, Promise<string[]>>();
  const flagsOf = (command: string) => {
    if (!asked.has(command)) asked.set(command, askFlags(command));
    return asked.get(command)!;
  };
  const askFlags = async (command: string) => {
    const help = execFileSync(process.execPath, [await cadastreProgram(), command, '--help']);
    const found = [...help.toString().matchAll(/^ {2}(?:-\w, )?(--[a-z0-9-]+)/gm)];
    return found.map(([, flag]) => flag!).filter((flag) => flag !== '--help');
  };

  test.each(Object.keys(programs))('every flag of cadastre %s can be given', async (program) => {
    const flags = await flagsOf(program);
    expect(flags.length).toBeGreaterThan(5);
    const extraArgs = flags.map((flag) => `${flag}=x`);
    const objects = await render({
      [program]: { extraArgs },
      console: { enabled: true, ...(program === 'console' ? { extraArgs } : {}) },
    });
    expect(argsOf(objects, program)).toEqual(expect.arrayContaining(extraArgs));
  });

  test('the chart gives no flag that the program does not know', async () => {
    for (const profile of profiles) {
      for (const [name, values] of Object.entries(switches)) {
        const objects = await render({ ...values, profile });
        for (const [container, command] of [...Object.entries(programs), ['shadow', 'operator']]) {
          const known = [...(await flagsOf(command!)), container];
          const given = argsOf(objects, container!)
            .filter((word) => word.startsWith('--'))
            .map((word) => word.split('=')[0]);
          expect(
            given.filter((flag) => !known.includes(flag!)),
            `${profile}, ${name}`,
          ).toEqual([]);
        }
      }
    }
  }, 120_000);
});

/** A flag about something that an agent of less scope does not do is refused by the agent. */
test.each([
  ['all of a node', {}, []],
  ['addresses for another plugin', { agent: { wiring: false } }, ['--wiring=false']],
  [
    'announcements alone',
    { profile: 'beside-cilium', agent: { announceOnly: true, wiring: false } },
    ['--announce-only'],
  ],
])('the agent takes the flags together: %s', async (_, values, scope) => {
  const given = argsOf(await render(values), 'agent');
  const ofScope = given.filter((word) => /^--(wiring|announce-only)/.test(word));
  expect(ofScope).toEqual(scope);
  const words = given.map((word) => word.replace('$(HOST_IP)', '127.0.0.1'));
  const argv = [await cadastreProgram(), ...words, '--kubeconfig=/nowhere/kubeconfig'];
  const { stderr } = spawnSync(process.execPath, argv, { timeout: 30_000 });
  expect(stderr.toString()).toContain('/nowhere/kubeconfig');
});

test('the plugin for another plugin is installed without a network configuration', async () => {
  const installer = async (values: object) =>
    (await render(values))
      .flatMap(({ spec }) => spec?.template?.spec.initContainers ?? [])
      .find(({ name }) => name === 'install-cni')?.args;
  expect(await installer({ agent: { wiring: false } })).toContain('--ipam-only');
  expect(await installer({})).not.toContain('--ipam-only');
});
