/** Who am I, whose is this token, and may I: here everybody with a token may do everything. */
import { type Fields, isFields } from '../object.ts';
import { badRequest } from '../status.ts';
import type { Tokens, User } from '../tokens.ts';

export function review(
  { group, kind }: { group: string; kind: string },
  body: unknown,
  user: User,
  tokens: Tokens,
): object {
  const given = isFields(body) ? body : {};
  const apiVersion = `${group}/v1`;
  const status = statusOf(kind, given, user, tokens);
  return { ...given, kind, apiVersion, metadata: { creationTimestamp: null }, status };
}

function statusOf(kind: string, given: Fields, user: User, tokens: Tokens): object {
  switch (kind) {
    case 'SelfSubjectReview':
      return { userInfo: user };
    case 'TokenReview':
      return tokenStatus(isFields(given.spec) ? given.spec : {}, tokens);
    case 'SelfSubjectRulesReview':
      return {
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        incomplete: false,
      };
    default:
      return { allowed: true, reason: 'whoever has the token may do everything' };
  }
}

function tokenStatus({ token }: Fields, tokens: Tokens): object {
  if (typeof token !== 'string' || token === '') {
    throw badRequest('token is required for TokenReview in authentication');
  }
  const user = tokens.userOf(token);
  return user === undefined
    ? { user: {}, error: 'the token is not known here' }
    : { authenticated: true, user };
}
