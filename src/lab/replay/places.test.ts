import { expect, test } from 'vitest';
import { Places } from './places.ts';

const look = (places: Places) => {
  places.look();
  return places.found;
};

test('one node for a block, whoever is asked', () => {
  const places = new Places();
  places.set('r1', '10.5.0.0/26', 'a');
  places.set('r2', '10.5.0.0/26', 'a');
  places.replace('table of r1', [
    { prefix: '10.5.0.0/26', node: 'a' },
    { prefix: '10.5.0.64/26', node: 'b' },
  ]);
  expect(look(places)).toEqual([]);
});

test('a block that passes from one node to another with nobody in between', () => {
  const places = new Places();
  places.set('r1', '10.5.0.0/26', 'a');
  places.remove('r1', '10.5.0.0/26', 'a');
  places.set('r1', '10.5.0.0/26', 'b');
  // The end of the old one is reported late.
  places.remove('r1', '10.5.0.0/26', 'a');
  places.set('r2', '10.5.0.0/26', 'b');
  expect(look(places)).toEqual([]);
});

test('two routers that send the same packet to two nodes, and then do not: it stays found', () => {
  const places = new Places();
  places.set('r1', '10.5.0.0/26', 'a');
  places.set('r2', '10.5.0.0/26', 'b');
  const found = ['10.5.0.0/26 at a (r1), 10.5.0.0/26 at b (r2)'];
  expect(look(places)).toEqual(found);
  places.set('r1', '10.5.0.0/26', 'b');
  expect(look(places)).toEqual(found);
});

test('two paths in one table, and a piece of a block', () => {
  const places = new Places();
  places.replace('table of r1', [
    { prefix: '10.5.0.0/26', node: 'a' },
    { prefix: '10.5.0.0/26', node: 'b' },
  ]);
  places.set('n3', '10.5.0.0/28', 'c');
  expect(look(places)).toHaveLength(3);
});
