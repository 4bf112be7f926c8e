/**
 * Loaded into a program that is under attack (`node --import`): what it costs, written to the
 * file that HOSTILE_FIGURES names. How long the event loop was blocked is measured in
 * processor time between two turns of a timer: on a busy machine a turn may come late, but
 * only work of our own makes it expensive.
 */
import { renameSync, writeFileSync } from 'node:fs';

const file = process.env.HOSTILE_FIGURES;
if (file !== undefined) {
  let writes = 0;
  let longestTurnMs = 0;
  let mostMemoryMb = 0;
  let isCounting = false;
  /** @type {string[]} */
  const uncaught = [];
  let before = process.cpuUsage();
  const look = () => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    mostMemoryMb = Math.max(mostMemoryMb, process.memoryUsage.rss() / 2 ** 20);
    // Modules are loaded and compiled in the first turns, before anybody can ask.
    if (isCounting) longestTurnMs = Math.max(longestTurnMs, (user + system) / 1000);
    isCounting ||= process.uptime() > 2;
  };
  const write = () => {
    writes++;
    const figures = { writes, pid: process.pid, longestTurnMs, mostMemoryMb, uncaught };
    try {
      writeFileSync(`${file}.new`, JSON.stringify(figures));
      renameSync(`${file}.new`, file);
    } catch {
      // The folder is being removed: the test is over.
    }
  };
  process.on('uncaughtExceptionMonitor', (error, origin) => {
    uncaught.push(`${origin}: ${error?.stack ?? error}`);
    write();
  });
  setInterval(look, 10).unref();
  setInterval(write, 200).unref();
}
