/**
 * What a drawing of the routes is made of: which node each router leads a prefix to, and whose
 * the prefix is. A way is wrong where the two differ. Pure: who draws it decides nothing.
 */
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import type { DoctorFinding } from './finding.ts';
import { usedPaths } from './route-view.ts';
import type { Survey } from './survey.ts';

export interface RoutePicture {
  /** Routers that were seen; where none was, `announced`: what the nodes say that they advertise. */
  routers: string[];
  nodes: PictureNode[];
  /** Prefixes that routers lead to a node, and that nobody owns. */
  strays: string[];
  ways: PictureWay[];
}

export interface PictureNode {
  name: string;
  blocks: Array<{ cidr: string; isReached: boolean }>;
  /** A wrong way begins or ends here, or a block of its is not reached. */
  isConcerned: boolean;
}

export interface PictureWay {
  router: string;
  prefix: string;
  /** The node at which traffic enters. */
  at: string;
  /** Whose it is; null: nobody's. */
  owner: string | null;
  isWrong: boolean;
}

export function routePicture(survey: Survey, findings: readonly DoctorFinding[]): RoutePicture {
  const { views, nodes, blocks } = survey;
  const ways: PictureWay[] = [];
  const add = (prefix: Prefix, key: string, owner: string | null) => {
    for (const view of views) {
      for (const { hop } of usedPaths(view, prefix, key)) {
        if (hop.kind !== 'node') continue;
        const isWrong = hop.node !== owner;
        ways.push({ router: view.name, prefix: key, at: hop.node, owner, isWrong });
      }
    }
  };
  for (const { prefix, key, node } of blocks) add(prefix, key, node);
  const strays = [...new Set(findings.filter(isStray).map(({ prefix }) => prefix ?? ''))];
  for (const text of strays) {
    const prefix = parsePrefix(text);
    if (prefix !== undefined) add(prefix, text, null);
  }
  const reached = new Set(ways.map(({ prefix }) => prefix));
  const wrong = new Set(
    ways.filter(({ isWrong }) => isWrong).flatMap(({ at, owner }) => [at, owner]),
  );
  return {
    routers: views.map(({ name }) => name),
    nodes: [...nodes].map(([name, { blocks: own }]) => {
      const shown = own.map(({ key, prefix }) => {
        // A router that was not asked for this family says nothing about it.
        const isAsked = views.some(({ families }) => families.has(prefix.family));
        return { cidr: key, isReached: !isAsked || reached.has(key) };
      });
      const isConcerned = wrong.has(name) || shown.some(({ isReached }) => !isReached);
      return { name, blocks: shown, isConcerned };
    }),
    strays: strays.filter((text) => reached.has(text)),
    ways,
  };
}

function isStray({ reason, owner }: DoctorFinding): boolean {
  return owner === null && (reason === 'Orphan' || reason === 'UnknownPrefix');
}
