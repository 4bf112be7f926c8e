import { CadastreError } from '../../base/errors.ts';
import {
  type LabelSelector,
  type Requirement,
  selectorProblems,
} from '../../model/label-selector.ts';

/**
 * The selector of `kubectl -l`: `rack=83,zone!=b,role in (a,b),tier notin (c),gpu,!old`.
 * Commas inside brackets separate values, all others separate requirements.
 */
export function readLabelQuery(text: string): LabelSelector {
  const matchExpressions = text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .map((part) => readRequirement(part) ?? refuse(text, `"${part}" is no requirement`));
  const selector = { matchExpressions };
  const [problem] = selectorProblems(selector);
  return problem === undefined ? selector : refuse(text, problem);
}

function readRequirement(part: string): Requirement | undefined {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(part);
  if (set !== null) {
    const [, key = '', word, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return { key, operator: word === 'in' ? 'In' : 'NotIn', values };
  }
  const equality = /^([^\s=!]+)\s*(!=|==?)\s*([^\s=!]*)$/.exec(part);
  if (equality !== null) {
    const [, key = '', sign, value = ''] = equality;
    return { key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  }
  const presence = /^(!?)\s*([^\s=!(),]+)$/.exec(part);
  if (presence === null) return undefined;
  const [, not, key = ''] = presence;
  return { key, operator: not === '' ? 'Exists' : 'DoesNotExist' };
}

function refuse(text: string, problem: string): never {
  throw new CadastreError('BAD_FLAG', `--selector=${text}: ${problem}`, {
    remedy: 'Write it as for kubectl: rack=83, zone!=b, role in (a,b), gpu, !old.',
  });
}
