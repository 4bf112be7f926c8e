/** What no container of deploy/ may do without; that it is enough is shown in test/node/restricted.test.ts. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { imageUser } from './node/image-user.ts';
import { podOf, securityOf } from './node/pod-of-manifest.ts';

const folder = join(import.meta.dirname, '../deploy');
const manifests = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const containers = manifests.flatMap((manifest) => {
  const pod = podOf(join(folder, manifest));
  return [...(pod.initContainers ?? []), ...pod.containers].map((container) => ({
    manifest,
    name: container.name,
    security: securityOf(pod, container),
    pod,
  }));
});

describe.each(containers)('$name of deploy/$manifest', ({ manifest, security, pod }) => {
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
    if (manifest === 'agent.yaml') return expect(security.runAsUser).toBe(0);
    expect(security.capabilities?.add ?? []).toEqual([]);
    expect(security.runAsNonRoot).toBe(true);
    expect(`${security.runAsUser}:${security.runAsGroup}`).toBe(imageUser());
    expect(pod.volumes ?? []).toEqual([]);
  });
});
