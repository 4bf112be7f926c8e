import { CadastreError } from '../base/errors.ts';

/** `--flag`, `--flag=true` and `--flag=false`; undefined if it is not there. */
export function readSwitch(flag: string, value: string | boolean | undefined): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw new CadastreError('BAD_FLAG', `${flag}=${value} is neither true nor false`);
}
