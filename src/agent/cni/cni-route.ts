import type { HttpHandler } from '../../base/http-server.ts';
import type { CniInput } from './cni-call.ts';
import type { CniServer } from './cni-server.ts';

/** The header that carries each variable; values are percent-encoded, so a header holds anything. */
const headerOf = {
  command: 'cni-command',
  containerId: 'cni-containerid',
  netns: 'cni-netns',
  ifname: 'cni-ifname',
  args: 'cni-args',
  plugin: 'cni-plugin',
  giveUpAtMs: 'cni-deadline',
} as const satisfies Record<Exclude<keyof CniInput, 'stdin'>, string>;

const wholeNumber = /^\d{1,15}$/;

export function readCniInput(
  header: (name: string) => string | undefined,
  stdin: string,
): CniInput {
  const value = (name: keyof typeof headerOf) => decode(header(headerOf[name]) ?? '');
  return {
    command: value('command'),
    containerId: value('containerId'),
    netns: value('netns'),
    ifname: value('ifname'),
    args: value('args'),
    plugin: value('plugin') || 'cadastre',
    giveUpAtMs: wholeNumber.test(value('giveUpAtMs')) ? Number(value('giveUpAtMs')) : undefined,
    stdin,
  };
}

/** The other direction: a call as the plugin on the host puts it. */
export function writeCniHeaders(input: Omit<CniInput, 'stdin'>): Record<string, string> {
  const names = Object.keys(headerOf) as Array<keyof typeof headerOf>;
  return Object.fromEntries(
    names.map((name) => [headerOf[name], encodeURIComponent(input[name] ?? '')]),
  );
}

/** POST /cni: 200 is exit code 0, 422 is exit code 1, the body goes to standard output. */
export function cniRoute(server: CniServer): HttpHandler {
  return async (request) => {
    const header = (name: string) => request.headers[name]?.toString();
    const answer = await server.handle(readCniInput(header, await request.text()));
    return { status: answer.isError ? 422 : 200, body: answer.body ?? '' };
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Bytes that are no UTF-8: no name of ours, and refused as such.
    return text;
  }
}
