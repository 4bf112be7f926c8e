/**
 * What a kubeconfig (or a pod's service account) boils down to: where the API
 * server is, whom to trust, and who we are. Who we are can change while we
 * run: tokens are rotated on disk, exec plugins hand out short-lived ones.
 */
export interface KubeAccess {
  /** `https://host:port`, or `http://…` for a proxy on loopback; no trailing slash. */
  readonly server: string;
  readonly tls: {
    readonly ca?: string | undefined;
    readonly insecureSkipVerify?: boolean | undefined;
    readonly serverName?: string | undefined;
  };
  readonly credentials: CredentialSource;
  /** The context's namespace, `default` when it names none. */
  readonly namespace: string;
  /** Headers for every request: impersonation. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where this came from, for messages: `context "prod" of /root/.kube/config`. */
  readonly origin: string;
}

/** One identity; a new object for a new one, so that it compares by reference. */
export interface Credential {
  readonly authorization?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface CredentialSource {
  /** Answers at once wherever it can: it is asked before every request. */
  current(): Credential | Promise<Credential>;
  /** The server answered 401 to this one; true when there is now another to try. */
  renew(rejected: Credential): Promise<boolean>;
}

export function fixedCredential(credential: Credential = {}): CredentialSource {
  return { current: () => credential, renew: async () => false };
}
