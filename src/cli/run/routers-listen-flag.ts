import { CadastreError } from '../../base/errors.ts';
import type { ListenPlan } from '../../witness/listener.ts';

/** `bmp=0.0.0.0:11019`, `bgp=[::]:179,as=64512,peer-as=64524`; without a word it is BMP. */
export function readListenFlag(text: string, before: readonly ListenPlan[] = []): ListenPlan[] {
  const [where = '', ...settings] = text.split(',');
  const match = /^(?:(bmp|bgp)=)?(\[[^\]]+\]|[^:\]]+):(\d{1,5})$/.exec(where);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw bad(text, 'is not an address and port');
  const numbers = new Map<string, number>();
  for (const setting of settings) {
    const [, key = '', value = ''] = /^(as|peer-as)=(\d{1,10})$/.exec(setting) ?? [];
    if (key === '' || Number(value) < 1 || Number(value) > 0xffffffff) {
      throw bad(text, `has "${setting}", which is neither as=NUMBER nor peer-as=NUMBER`);
    }
    numbers.set(key, Number(value));
  }
  const protocol = (match[1] ?? 'bmp') as ListenPlan['protocol'];
  const [localAsn, peerAsn] = [numbers.get('as'), numbers.get('peer-as')];
  const host = match[2]!.replace(/^\[|\]$/g, '');
  if (protocol === 'bmp') {
    if (numbers.size > 0) throw bad(text, 'has an AS number, which BMP does not need');
    return [...before, { protocol, host, port }];
  }
  if (localAsn === undefined || peerAsn === undefined) {
    throw bad(text, 'lacks as=OURS or peer-as=THEIRS');
  }
  return [...before, { protocol, host, port, localAsn, peerAsn }];
}

function bad(text: string, why: string): CadastreError {
  return new CadastreError('BAD_FLAG', `--listen=${text} ${why}`, {
    remedy: 'Write it like bmp=0.0.0.0:11019 or bgp=0.0.0.0:179,as=64512,peer-as=64524.',
  });
}
