/** What no container of deploy/ may do without; that it is enough is shown in test/node/restricted.test.ts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { imageUser } from './node/image-user.ts';
import { podOf, securityOf } from './node/pod-of-manifest.ts';

const folder = join(import.meta.dirname, '../deploy');
const manifests = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .filter((name) =>
    /^kind: (Deployment|DaemonSet)$/m.test(readFileSync(join(folder, name), 'utf8')),
  );
const containers = manifests.flatMap((manifest) => {
  const pod = podOf(join(folder, manifest));
  return [...(pod.initContainers ?? []), ...pod.containers].map((container) => ({
    manifest,
    name: container.name,
    volumeMounts: container.volumeMounts ?? [],
    security: securityOf(pod, container),
    pod,
  }));
});

describe.each(containers)(
  '$name of deploy/$manifest',
  ({ manifest, name, volumeMounts, security, pod }) => {
    test('is not privileged, and cannot become so', () => {
      expect(security.privileged ?? false).toBe(false);
      expect(security.allowPrivilegeEscalation).toBe(false);
      expect(security.capabilities?.drop).toEqual(['ALL']);
      expect(security.seccompProfile).toEqual({ type: 'RuntimeDefault' });
      expect(pod.hostPID ?? false).toBe(false);
    });

    test('writes only to what is mounted', () => {
      expect(security.readOnlyRootFilesystem).toBe(true);
    });

    test('is root only on the machine that it configures', () => {
      if (manifest === 'agent.yaml' || name === 'clean-node') {
        return expect(security.runAsUser).toBe(0);
      }
      expect(security.capabilities?.add ?? []).toEqual([]);
      // The folder of its state belongs to root, who is nobody without a capability.
      if (manifest === 'announce-only.yaml') return expect(security.runAsUser).toBe(0);
      expect(security.runAsNonRoot).toBe(true);
      expect(`${security.runAsUser}:${security.runAsGroup}`).toBe(imageUser());
      expect(volumeMounts).toEqual([]);
    });
  },
);

test('docs/agent.md says what each capability and each mount of the agent is for', () => {
  const manifest = readFileSync(join(folder, 'agent.yaml'), 'utf8');
  const page = readFileSync(join(folder, '../docs/agent.md'), 'utf8');
  const rows = (head: string) => {
    const table =
      new RegExp(`^\\| ${head} .*\\n\\|.*\\n((?:\\|.*\\n)+)`, 'm').exec(page)?.[1] ?? '';
    return [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, first]) => first);
  };
  // The offers in comments too.
  const listed = [...manifest.matchAll(/^ {16}(?:# )?- ([A-Z_]+)$/gm)].map(([, name]) => name);
  expect(rows('capability')).toEqual(listed);
  const { containers: all, volumes } = podOf(join(folder, 'agent.yaml'));
  const mounts = all[0]?.volumeMounts?.map(
    ({ name }) => volumes?.find((volume) => volume.name === name)?.hostPath.path,
  );
  expect(rows('mount')).toEqual(mounts);
});
