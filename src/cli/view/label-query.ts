import { CadastreError } from '../../base/errors.ts';
import { parseLabelQuery } from '../../base/label-requirement.ts';
import type { LabelSelector } from '../../model/label-selector.ts';

/** The flag `--selector`, in the form of `kubectl -l`. */
export function readLabelQuery(text: string): LabelSelector {
  const read = parseLabelQuery(text);
  if (!('wrong' in read)) return { matchExpressions: read };
  throw new CadastreError('BAD_FLAG', `--selector=${text}: "${read.wrong}" is no requirement`, {
    remedy: 'Write it as for kubectl: rack=83, zone!=b, role in (a,b), gpu, !old.',
  });
}
