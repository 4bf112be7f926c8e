import { Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { ConsoleRouters } from '../../console/console-routers.ts';
import type { SeenRouter } from '../../witness/connected-router.ts';
import type { ListenPlan } from '../../witness/listener.ts';
import type { Witness } from '../../witness/witness.ts';
import { routersListenFlag } from './routers-listen-flag.ts';

/** `--witness`: where routers connect to and say what they hold, for as long as this runs. */
export function witnessOption(): Option {
  return new Option(
    '--witness <where>',
    'listen to what routers hold: bmp=ADDRESS:PORT, or bgp=ADDRESS:PORT,as=OURS,peer-as=THEIRS; repeatable',
  ).argParser(routersListenFlag('--witness'));
}

/** Making a table of 100,000 routes to compare takes a tenth of a second. */
const mostRoutes = 100_000;

/** Loaded only where it is asked for. */
export async function startWitness(
  plans: readonly ListenPlan[] | undefined,
  log: Log,
  metrics?: Metrics,
): Promise<Witness | undefined> {
  if (plans === undefined) return undefined;
  const { Witness } = await import('../../witness/witness.ts');
  const now = () => systemClock.monotonicMs();
  const witness = new Witness({ now, log, metrics, mostRoutes });
  await witness.listen(plans);
  return witness;
}

/** Routers for the page: those that are listened to, and dumps. Undefined: none was asked. */
export async function consoleRouters(
  witness: Witness | undefined,
  dumps: readonly SeenRouter[] = [],
): Promise<ConsoleRouters | undefined> {
  if (witness === undefined && dumps.length === 0) return undefined;
  const { allRouters, dumpedRouters, witnessRouters } = await import(
    '../../console/console-routers.ts'
  );
  const dumped = dumpedRouters(dumps);
  return witness === undefined ? dumped : allRouters(witnessRouters(witness), dumped);
}
