import { CadastreError } from '../../base/errors.ts';
import type { ListenPlan } from '../../witness/listener.ts';

/** The reader of a flag that says where routers are listened to; it may be given several times. */
export function routersListenFlag(flag: string) {
  return (text: string, before: readonly ListenPlan[] = []): ListenPlan[] => [
    ...before,
    readPlan(flag, text),
  ];
}

/** `bmp=0.0.0.0:11019`, `bgp=[::]:179,as=64512,peer-as=64524`; without a word it is BMP. */
function readPlan(flag: string, text: string): ListenPlan {
  const bad = (why: string) =>
    new CadastreError('BAD_FLAG', `${flag}=${text} ${why}`, {
      remedy: 'Write it like bmp=0.0.0.0:11019 or bgp=0.0.0.0:179,as=64512,peer-as=64524.',
    });
  const [where = '', ...settings] = text.split(',');
  const match = /^(?:(bmp|bgp)=)?(\[[^\]]+\]|[^:\]]+):(\d{1,5})$/.exec(where);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw bad('is not an address and port');
  const numbers = new Map<string, number>();
  for (const setting of settings) {
    const [, key = '', value = ''] = /^(as|peer-as)=(\d{1,10})$/.exec(setting) ?? [];
    if (key === '' || Number(value) < 1 || Number(value) > 0xffffffff) {
      throw bad(`has "${setting}", which is neither as=NUMBER nor peer-as=NUMBER`);
    }
    numbers.set(key, Number(value));
  }
  const protocol = (match[1] ?? 'bmp') as ListenPlan['protocol'];
  const [localAsn, peerAsn] = [numbers.get('as'), numbers.get('peer-as')];
  const host = match[2]!.replace(/^\[|\]$/g, '');
  if (protocol === 'bmp') {
    if (numbers.size > 0) throw bad('has an AS number, which BMP does not need');
    return { protocol, host, port };
  }
  if (localAsn === undefined || peerAsn === undefined) {
    throw bad('lacks as=OURS or peer-as=THEIRS');
  }
  return { protocol, host, port, localAsn, peerAsn };
}
