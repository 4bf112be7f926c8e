import { apiVersion } from '../../model/keys.ts';
import type { Labels } from '../../model/label-selector.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Evidence } from './evidence.ts';
import { type Survey, survey } from './survey.ts';
import { addNodes } from './what-if-add.ts';
import type { ChangesAnswer, WhatIfAnswer } from './what-if-answer.ts';
import { drainNodes } from './what-if-drain.ts';
import { removePool, shrinkPool } from './what-if-pool.ts';
import { relabelNode } from './what-if-relabel.ts';
import { loseRouter } from './what-if-router.ts';

/** What somebody means to do, or what may happen. */
export type Action =
  | { kind: 'drain'; nodes: readonly string[] }
  | { kind: 'remove-pool'; pool: string }
  | { kind: 'shrink-pool'; pool: string; to: Prefix }
  | { kind: 'relabel'; node: string; labels: Readonly<Record<string, string | null>> }
  | { kind: 'add-nodes'; count: number; labels: Labels }
  | { kind: 'lose-router'; router: string };

/** Who would lose what; nothing is changed. */
export function whatIf(evidence: Evidence, action: Action): WhatIfAnswer {
  return whatIfSurveyed(survey(evidence), action);
}

export function whatIfSurveyed(surveyed: Survey, action: Action): WhatIfAnswer {
  const answer = changesOf(surveyed, action);
  if (answer.kind === 'unknown') return answer;
  const { loses, moves, refused } = answer;
  const safe = loses.length === 0 && refused.length === 0;
  return {
    kind: 'answer',
    whatIf: { apiVersion, kind: 'WhatIf', action: actionText(action), safe, loses, moves, refused },
  };
}

function changesOf(surveyed: Survey, action: Action): ChangesAnswer {
  switch (action.kind) {
    case 'drain':
      return drainNodes(surveyed, action.nodes);
    case 'remove-pool':
      return removePool(surveyed, action.pool);
    case 'shrink-pool':
      return shrinkPool(surveyed, action.pool, action.to);
    case 'relabel':
      return relabelNode(surveyed, action.node, action.labels);
    case 'add-nodes':
      return addNodes(surveyed, action.count, action.labels);
    case 'lose-router':
      return loseRouter(surveyed, action.router);
  }
}

export function actionText(action: Action): string {
  switch (action.kind) {
    case 'drain':
      return `drain ${action.nodes.join(' ')}`;
    case 'remove-pool':
      return `remove-pool ${action.pool}`;
    case 'shrink-pool':
      return `shrink-pool ${action.pool} ${action.to}`;
    case 'relabel':
      return `relabel ${action.node} ${Object.entries(action.labels)
        .map(([key, value]) => (value === null ? `${key}-` : `${key}=${value}`))
        .join(' ')}`;
    case 'add-nodes': {
      const labels = Object.entries(action.labels).map(([key, value]) => `${key}=${value}`);
      return `add-nodes ${action.count}${labels.length > 0 ? ` --labels ${labels.join(',')}` : ''}`;
    }
    case 'lose-router':
      return `lose-router ${action.router}`;
  }
}
