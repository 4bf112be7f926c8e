/** The embedded API server as a process, with a log of writes in the real one's form. */
import { appendFileSync } from 'node:fs';
import { startApiServer } from '../../src/apiserver/apiserver.ts';

interface Settings {
  dataDir: string;
  port: number;
  auditPath?: string;
  serviceNetworks?: string[];
  waitsForDisk?: boolean;
  compactAboveBytes?: number;
}

const verbs: Record<string, [collection: string, object: string]> = {
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['deletecollection', 'delete'],
};

const settings = JSON.parse(process.argv[2] as string) as Settings;
const { auditPath, ...options } = settings;

const api = await startApiServer({
  ...options,
  onAnswer: ({ method, path, userAgent, code, name: written }) => {
    const verb = verbs[method];
    if (auditPath === undefined || verb === undefined) return;
    const parts = path.split('/').slice(path.startsWith('/apis/') ? 4 : 3);
    if (parts[0] === 'namespaces' && parts.length > 2) parts.splice(0, 2);
    const [resource, name, subresource] = parts;
    const objectRef = { resource, name: name ?? written, subresource };
    const line = {
      verb: verb[name === undefined ? 0 : 1],
      userAgent,
      objectRef,
      responseStatus: { code },
    };
    appendFileSync(auditPath, `${JSON.stringify(line)}\n`);
  },
});

process.on('SIGTERM', () => {
  void api.stop().then(() => process.exit(0));
});
