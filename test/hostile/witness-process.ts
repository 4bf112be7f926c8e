/** `cadastre console --witness`: a program that routers connect to, by BMP and by BGP. */
import { join } from 'node:path';
import { checkoutDir } from '../../scripts/checkout.mjs';
import { freePort } from '../parts/free-port.ts';
import { type PartProcess, startPart, untilReady } from '../parts/part-process.ts';
import type { Listening } from './doors/bgp-door.ts';
import { measured } from './target.ts';

export interface WitnessProcess {
  part: PartProcess;
  bgp: Listening;
  bmp: Listening;
}

export async function startWitness(dir: string, kubeconfig: string): Promise<WitnessProcess> {
  const host = '127.0.0.1';
  const [bgp, bmp, page] = [await freePort(), await freePort(), await freePort()];
  const part = startPart({
    name: 'cadastre console --witness',
    binary: process.execPath,
    args: [
      ...[join(checkoutDir, 'dist/cadastre.mjs'), 'console', '--kubeconfig', kubeconfig],
      ...['--listen', `${host}:${page}`, '--witness', `bmp=${host}:${bmp}`],
      ...['--witness', `bgp=${host}:${bgp},as=64524,peer-as=64513`],
    ],
    logFile: join(dir, 'witness.log'),
    env: measured(dir, 'witness'),
    dir,
  });
  const url = `http://${host}:${page}`;
  await untilReady(part, async () => (await fetch(`${url}/readyz`)).ok, 60_000);
  return { part, bgp: { host, port: bgp }, bmp: { host, port: bmp } };
}
