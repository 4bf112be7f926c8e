import { Option } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import type { RibDumpFile } from '../../doctor/rib/read-dumps.ts';

/** `--rib`: what a router holds, as somebody saved it. */
export function ribOption(): Option {
  return new Option(
    '--rib <router=file>',
    "a router's own table as it printed it, recognised by content (see docs/routers); repeatable",
  ).argParser(readRibFlag);
}

/** `tor1=FILE`: what the router is called, and its dump; `-` is stdin. */
function readRibFlag(text: string, before: readonly RibDumpFile[] = []): RibDumpFile[] {
  const at = text.indexOf('=');
  const [router, path] = [text.slice(0, at).trim(), text.slice(at + 1)];
  if (at <= 0 || router === '' || path === '') {
    throw new CadastreError('BAD_FLAG', `--rib=${text} is not of the form ROUTER=FILE`, {
      remedy: 'Write it like --rib tor1=tor1.json; the name is yours to choose.',
    });
  }
  return [...before, { router, path }];
}
