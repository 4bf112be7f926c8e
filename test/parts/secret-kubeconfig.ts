/** A kubeconfig in which every value that is nobody's business is marked, for each way to log in. */
const random = 'q7Zk2mW9xR4tB8nL';
const pem = (kind: string, what: string) =>
  Buffer.from(`-----BEGIN ${kind}-----\n${what}${random}\n-----END ${kind}-----\n`).toString(
    'base64',
  );

/** What `users[0].user` holds. */
export const secretUsers: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  token: { token: `eyJhbGciOi.${random}TOKEN.c2lnbmF0dXJl` },
  password: { username: 'admin', password: `${random}:PASSWORD` },
  tokenFile: { tokenFile: `/nowhere/${random}/TOKENFILE` },
  certificate: {
    'client-certificate-data': pem('CERTIFICATE', 'CERT'),
    'client-key-data': pem('RSA PRIVATE KEY', 'KEY'),
  },
  keyFile: {
    'client-certificate': `/nowhere/${random}/CERTFILE`,
    'client-key': `/nowhere/${random}/KEYFILE`,
  },
  exec: {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: '/bin/cat',
      args: [`/nowhere/--client-secret=${random}ARGUMENT`],
      env: [{ name: 'SECRET', value: `${random}ENVIRONMENT` }],
      installHint: `${random}HINT`,
      interactiveMode: 'Never',
    },
  },
  provider: { 'auth-provider': { name: 'oidc', config: { 'refresh-token': `${random}REFRESH` } } },
};

export function secretKubeconfig(user: string, server = 'https://127.0.0.1:6443') {
  const config: Record<string, unknown> = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'site', user: 'me', namespace: 'default' } }],
    clusters: [
      {
        name: 'site',
        cluster: { server, 'certificate-authority-data': pem('CERTIFICATE', 'CA') },
      },
    ],
    users: [{ name: 'me', user: secretUsers[user] }],
  };
  return structuredClone(config);
}

/** Eight octets of a secret are a part of it worth having. */
const shortest = 8;

/** The secrets of which any part of that length stands in a text, as they are or decoded. */
export function leakedSecrets(text: string): string[] {
  const leaves: string[] = [random];
  const visit = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
    else if (typeof value === 'string' && isSecret(value)) leaves.push(value);
  };
  visit(secretUsers);
  return leaves.filter((secret) => {
    for (let at = 0; at + shortest <= secret.length; at++) {
      if (text.includes(secret.slice(at, at + shortest))) return true;
    }
    return false;
  });
}

function isSecret(value: string): boolean {
  return value.includes(random) || Buffer.from(value, 'base64').toString().includes(random);
}
