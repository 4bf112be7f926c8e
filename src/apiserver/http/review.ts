/** Who am I, and may I: here everybody with the token may do everything. */
import { isFields } from '../object.ts';

export const user = {
  username: 'admin',
  uid: 'admin',
  groups: ['system:masters', 'system:authenticated'],
};

export function review({ group, kind }: { group: string; kind: string }, body: unknown): object {
  const given = isFields(body) ? body : {};
  const status =
    kind === 'SelfSubjectReview'
      ? { userInfo: user }
      : kind === 'SelfSubjectRulesReview'
        ? {
            resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
            nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
            incomplete: false,
          }
        : { allowed: true, reason: 'whoever has the token may do everything' };
  const apiVersion = `${group}/v1`;
  return { ...given, kind, apiVersion, metadata: { creationTimestamp: null }, status };
}
