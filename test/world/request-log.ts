import { createReadStream, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A request as the API server's audit log has it. */
export interface LoggedRequest {
  verb: string;
  resource: string;
  subresource: string;
  name: string;
  userAgent: string;
  code: number;
}

export const writeVerbs = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** Who writes what, by the word of the API server itself. */
export class RequestLog {
  readonly apiServerArgs: string[];
  readonly #path: string;

  private constructor(path: string, policyPath: string) {
    this.#path = path;
    this.apiServerArgs = [
      `--audit-log-path=${path}`,
      `--audit-policy-file=${policyPath}`,
      // One file, whatever its size: a log that was rotated away counts nothing.
      '--audit-log-maxsize=100000',
    ];
  }

  static in(dir: string): RequestLog {
    const policyPath = join(dir, 'audit-policy.json');
    const policy = {
      apiVersion: 'audit.k8s.io/v1',
      kind: 'Policy',
      omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
      omitManagedFields: true,
      rules: [{ level: 'Metadata', verbs: writeVerbs }, { level: 'None' }],
    };
    writeFileSync(policyPath, JSON.stringify(policy));
    return new RequestLog(join(dir, 'audit.log'), policyPath);
  }

  /** A place in the log: hand it to `since`. */
  mark(): number {
    return this.#read().length;
  }

  /**
   * Writes of the operators since a mark, without the lease that they live by and
   * the history, which follows behind at a pace of its own.
   */
  ofOperators(mark = 0): LoggedRequest[] {
    const beside = ['leases', 'blockhistories'];
    return this.since(mark).filter(
      ({ userAgent, resource }) => userAgent.startsWith('cadastre') && !beside.includes(resource),
    );
  }

  since(mark: number): LoggedRequest[] {
    return this.#read()
      .slice(mark)
      .toString('utf8')
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => readEntry(JSON.parse(line)));
  }

  /** How often the operators wrote what, by `verb resource code`; for logs of any size. */
  async tally(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    if (!existsSync(this.#path)) return counts;
    for await (const line of createInterface({ input: createReadStream(this.#path) })) {
      if (!line.includes('"userAgent":"cadastre')) continue;
      const { verb, resource, code } = readEntry(JSON.parse(line));
      const key = `${verb} ${resource} ${code}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }

  #read(): Buffer {
    return existsSync(this.#path) ? readFileSync(this.#path) : Buffer.alloc(0);
  }
}

interface AuditEntry {
  verb: string;
  userAgent?: string;
  objectRef?: { resource?: string; subresource?: string; name?: string };
  responseStatus?: { code?: number };
}

function readEntry(entry: AuditEntry): LoggedRequest {
  return {
    verb: entry.verb,
    resource: entry.objectRef?.resource ?? '',
    subresource: entry.objectRef?.subresource ?? '',
    name: entry.objectRef?.name ?? '',
    userAgent: entry.userAgent ?? '',
    code: entry.responseStatus?.code ?? 0,
  };
}
