/** The authorities of a cluster, and a certificate for every part, laid out as kubeadm does. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  type Certificate,
  createAuthority,
  issueCertificate,
} from '../../apiserver/certificate.ts';
import { apiServerPort, control, type Host, kubernetesService } from './layout.ts';

const secret = { mode: 0o600 };

/** Of an API server with an authority of its own, and one token for everybody. */
interface OwnIdentity {
  readonly ca: string;
  readonly token: string;
}

export class Credentials {
  readonly #authority = createAuthority('kubernetes');
  readonly #apiServer: OwnIdentity | undefined;

  /** `apiServer`: where it knows no client certificates. */
  constructor(apiServer?: OwnIdentity) {
    this.#apiServer = apiServer;
  }

  /** Who signed the certificate of the API server. */
  get #rootPem(): string {
    return this.#apiServer?.ca ?? this.#authority.certPem;
  }

  /** The pki folder of the control plane. */
  writeControlPlane(folder: string): void {
    const frontProxy = createAuthority('front-proxy');
    writePair(folder, 'ca', this.#authority);
    writeFileSync(join(folder, 'root-ca.crt'), this.#rootPem);
    writePair(folder, 'front-proxy-ca', frontProxy);
    writePair(
      folder,
      'apiserver',
      issueCertificate(this.#authority, {
        commonName: 'kube-apiserver',
        use: 'server',
        hosts: [
          'kubernetes',
          'kubernetes.default',
          'kubernetes.default.svc',
          'kubernetes.default.svc.cluster.local',
          'localhost',
          '127.0.0.1',
          kubernetesService,
          control.ipv4,
        ],
      }),
    );
    writePair(
      folder,
      'apiserver-kubelet-client',
      this.#client('kube-apiserver-kubelet-client', ['system:masters']),
    );
    writePair(
      folder,
      'front-proxy-client',
      issueCertificate(frontProxy, { commonName: 'front-proxy-client', use: 'client' }),
    );
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ format: 'pem', type: 'sec1' }).toString();
    writeFileSync(join(folder, 'sa.key'), key, secret);
  }

  /** What a kubelet serves with. */
  writeNodeServing(folder: string, { name, ipv4 }: Host): void {
    const hosts = [name, ipv4];
    const serving = issueCertificate(this.#authority, { commonName: name, use: 'server', hosts });
    writePair(folder, 'kubelet', serving);
    writeFileSync(join(folder, 'ca.crt'), this.#authority.certPem);
  }

  writeKubeconfig(
    path: string,
    user: { readonly name: string; readonly groups?: string[] },
    server = `https://${control.ipv4}:${apiServerPort}`,
  ): void {
    const text = stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'lab',
      clusters: [
        {
          name: 'lab',
          cluster: { server, 'certificate-authority-data': base64(this.#rootPem) },
        },
      ],
      contexts: [{ name: 'lab', context: { cluster: 'lab', user: user.name } }],
      users: [{ name: user.name, user: this.#proofOf(user) }],
    });
    writeFileSync(path, text, secret);
  }

  #proofOf({ name, groups = [] }: { readonly name: string; readonly groups?: string[] }): object {
    if (this.#apiServer !== undefined) return { token: this.#apiServer.token };
    const { certPem, keyPem } = this.#client(name, groups);
    return { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) };
  }

  #client(commonName: string, organizations: string[]): Certificate {
    return issueCertificate(this.#authority, { commonName, organizations, use: 'client' });
  }
}

function writePair(folder: string, name: string, { certPem, keyPem }: Certificate): void {
  writeFileSync(join(folder, `${name}.crt`), certPem);
  writeFileSync(join(folder, `${name}.key`), keyPem, secret);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
