/** Every door once, by a fixed seed; `npm run soak -- hostile` does many times as much. */
import { expect, test } from 'vitest';
import { attackEveryDoor } from './attack.ts';

test('no program ends, stops answering, grows without limit or changes anything unasked', async () => {
  const { broken, figures } = await attackEveryDoor({
    seed: 1,
    scale: 1,
    onDoor: (tally) => console.log(String(tally)),
  });
  for (const [name, { mostMemoryMb, longestTurnMs }] of figures) {
    console.log(
      `${name}: ${mostMemoryMb.toFixed(0)} MB, longest turn ${longestTurnMs.toFixed(0)} ms`,
    );
  }
  expect(broken).toEqual([]);
}, 600_000);
