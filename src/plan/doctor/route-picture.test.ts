import { expect, test } from 'vitest';
import { cleanWorlds, route, router } from '../../../test/doctor/worlds.ts';
import type { Evidence } from './evidence.ts';
import { judgeSurvey } from './judge.ts';
import { type RoutePicture, routePicture } from './route-picture.ts';
import { survey } from './survey.ts';

const clean = cleanWorlds['cluster-pool of Cilium'];
const pictureOf = (evidence: Evidence): RoutePicture => {
  const seen = survey(evidence);
  return routePicture(seen, judgeSurvey(seen));
};
const wrong = ({ ways }: RoutePicture) =>
  ways.filter(({ isWrong }) => isWrong).map(({ router: at, ...way }) => [at, way.prefix, way.at]);

test('in order every way ends at the owner, and nobody is concerned', () => {
  const picture = pictureOf(clean());
  expect(picture.ways.length).toBeGreaterThan(0);
  expect(wrong(picture)).toEqual([]);
  expect(picture.nodes.filter(({ isConcerned }) => isConcerned)).toEqual([]);
});

test('a block that enters at another node is a wrong way, from that node to the owner', () => {
  const routers = [
    router('tor1', [route('10.1.0.0/24', '10.0.0.2'), route('10.1.1.0/24', '10.0.0.2')]),
  ];
  const picture = pictureOf({ ...clean(), routers });
  expect(wrong(picture)).toEqual([['tor1', '10.1.0.0/24', 'b']]);
  expect(picture.nodes.map(({ name, isConcerned }) => [name, isConcerned])).toEqual([
    ['a', true],
    ['b', true],
  ]);
});

test('a block without a route is not reached; a covering route reaches it', () => {
  const only = [router('tor1', [route('10.1.1.0/24', '10.0.0.2')])];
  const [a] = pictureOf({ ...clean(), routers: only }).nodes;
  expect(a?.blocks).toEqual([{ cidr: '10.1.0.0/24', isReached: false }]);
  const covered = [router('tor1', [route('10.1.0.0/23', '10.0.0.1')])];
  const [again] = pictureOf({ ...clean(), routers: covered }).nodes;
  expect(again?.blocks).toEqual([{ cidr: '10.1.0.0/24', isReached: true }]);
});
