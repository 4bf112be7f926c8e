/**
 * Who asks. The token of the folder is the administrator's; those of service
 * accounts are issued on request (JSON Web Tokens, signed with a key derived
 * from it), as kubelets ask for them on behalf of pods.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface User {
  username: string;
  uid: string;
  groups: string[];
}

export interface ServiceAccount {
  namespace: string;
  name: string;
  uid: string;
}

interface Claims {
  iss: string;
  sub: string;
  aud: string[];
  iat: number;
  exp: number;
  'kubernetes.io': { namespace: string; serviceaccount: { name: string; uid: string } };
}

const administrator: User = {
  username: 'admin',
  uid: 'admin',
  groups: ['system:masters', 'system:authenticated'],
};

export const issuer = 'https://kubernetes.default.svc';

export class Tokens {
  readonly #token: string;
  readonly #key: Buffer;
  readonly #nowMs: () => number;

  constructor(token: string, nowMs: () => number) {
    this.#token = token;
    this.#key = createHmac('sha256', token).update('service accounts').digest();
    this.#nowMs = nowMs;
  }

  issue({ namespace, name, uid }: ServiceAccount, aud: string[], lifeSeconds: number): string {
    const iat = Math.floor(this.#nowMs() / 1000);
    const claims: Claims = {
      iss: issuer,
      sub: `system:serviceaccount:${namespace}:${name}`,
      aud,
      iat,
      exp: iat + lifeSeconds,
      'kubernetes.io': { namespace, serviceaccount: { name, uid } },
    };
    const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${signed}.${this.#sign(signed)}`;
  }

  /** Whose token it is; undefined if it is nobody's, or its time is over. */
  userOf(token: string): User | undefined {
    if (isSame(token, this.#token)) return administrator;
    const end = token.lastIndexOf('.');
    const signed = token.slice(0, Math.max(end, 0));
    if (end < 0 || !isSame(token.slice(end + 1), this.#sign(signed))) return undefined;
    // Signed by us: it is what `issue` made.
    const claims = JSON.parse(
      Buffer.from(signed.slice(signed.indexOf('.') + 1), 'base64url').toString(),
    ) as Claims;
    if (claims.exp * 1000 <= this.#nowMs()) return undefined;
    const { namespace, serviceaccount } = claims['kubernetes.io'];
    return {
      username: claims.sub,
      uid: serviceaccount.uid,
      groups: [
        'system:serviceaccounts',
        `system:serviceaccounts:${namespace}`,
        'system:authenticated',
      ],
    };
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

function isSame(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}
