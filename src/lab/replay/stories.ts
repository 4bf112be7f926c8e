import { apiDownAnHour } from './api-down.ts';
import { cordon } from './cordon.ts';
import { incidentNow } from './incident-now.ts';
import { incidentThen } from './incident-then.ts';
import { partition } from './partition.ts';
import { rackMove } from './rack-move.ts';
import { restore } from './restore.ts';
import { rollingUpgrade } from './rolling-upgrade.ts';
import { routerLoss } from './router-loss.ts';
import { silentDeath } from './silent-death.ts';
import { splitBrain } from './split-brain.ts';
import type { Story } from './story.ts';
import { traceroute } from './traceroute.ts';

/** In the order in which one would tell them. */
export const stories: readonly Story[] = [
  incidentThen,
  incidentNow,
  rackMove,
  rollingUpgrade,
  routerLoss,
  splitBrain,
  cordon,
  partition,
  apiDownAnHour,
  silentDeath,
  restore,
  traceroute,
];
