/**
 * `npm run soak -- kill-agent [KILLS]`: kill -9 of the agent at random, under
 * parallel ADD and DEL (root, Linux). The same as in `npm test`, longer.
 */
import { sweepNamespaces } from '../kernel/namespaces.ts';
import { killOften } from '../node/kills.ts';

const kills = Number(process.argv[2] ?? 1000);
const started = performance.now();
const seconds = () => Math.round((performance.now() - started) / 1000);
await sweepNamespaces({ isOver: false });
const figures = await killOften(kills, (done) => {
  if (done % 50 === 0) console.error(`${done} kills, ${seconds()} s`);
});
const { added, refused, remembered, leftAddresses, leftInterfaces } = figures;
console.log(
  `${kills} kills, ${added} pods added, ${refused} ADDs refused, ${remembered} DELs remembered, ${seconds()} s`,
);
for (const left of [...leftAddresses, ...leftInterfaces]) console.log(`left behind: ${left}`);
if (leftAddresses.length + leftInterfaces.length > 0) process.exitCode = 1;
else console.log('no address twice, no address left, no interface left');
