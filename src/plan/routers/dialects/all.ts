import { bird } from './bird.ts';
import { aristaEos, ciscoIos, ciscoNxos } from './cisco-like.ts';
import type { Dialect } from './dialect.ts';
import { frr, sonic } from './frr.ts';
import { h3c } from './h3c.ts';
import { junos } from './junos.ts';

/** In the order of the help. */
export const dialects: readonly Dialect[] = [
  frr,
  bird,
  aristaEos,
  ciscoIos,
  ciscoNxos,
  junos,
  sonic,
  h3c,
];
