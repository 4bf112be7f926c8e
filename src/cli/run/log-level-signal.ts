import type { Log, LogLevelSwitch } from '../../base/log.ts';

/**
 * SIGUSR2 switches between debug and the level that the program was started with. Only its own user and
 * root can send a signal. The agent, where SIGUSR2 withdraws the routes, is asked on its socket instead.
 */
export function switchLevelOnSignal(log: Log & LogLevelSwitch): () => void {
  const usual = log.level;
  const turn = () => {
    const level = log.level === 'debug' && usual !== 'debug' ? usual : 'debug';
    log.level = 'info';
    log.info({ level }, `SIGUSR2: the log level is ${level} now`);
    log.level = level;
  };
  process.on('SIGUSR2', turn);
  return () => void process.off('SIGUSR2', turn);
}
