/** The embedded API server as the one of a cluster of kubelets, in the namespace `control`. */
import { startApiServer } from '../../apiserver/apiserver.ts';
import { identityIn } from '../../apiserver/folder.ts';
import type { Log } from '../../base/log.ts';
import { whenAborted } from '../../kube/on-abort.ts';
import { apiServerPort, control, kubernetesService, serviceNetwork } from './layout.ts';

/** Its token and its authority, known before it runs. */
export function makeIdentity(folder: string): { readonly token: string; readonly ca: string } {
  return identityIn(folder, control.ipv4, kubernetesService);
}

export async function runEmbeddedApiServer(
  folder: string,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const server = await startApiServer({
    dataDir: folder,
    host: control.ipv4,
    port: apiServerPort,
    serviceNetworks: [serviceNetwork.ipv4, serviceNetwork.ipv6],
    log,
    hasKubelets: true,
    // A lab does not survive a power cut of the machine anyway.
    waitsForDisk: false,
    onAnswer: (answered) => {
      if (isRefusal(answered.code)) {
        const { method: verb, path, code, userAgent: by, name: object } = answered;
        log.warn({ verb, path, code, by, object }, 'request refused');
      }
    },
  });
  await whenAborted(signal);
  await server.stop();
}

/** What is not there, is there already, or was changed by somebody else is everyday life. */
function isRefusal(code: number): boolean {
  return code >= 400 && code !== 404 && code !== 409;
}
