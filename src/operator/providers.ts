import { CadastreError } from '../base/errors.ts';
import { findMode, type Mode, ourModes } from '../model/modes.ts';

/** The mode that a flag names; one that nobody can run in is a clear error. */
export function providerOf(name: string): Mode {
  const mode = findMode(name);
  if (mode?.isOurs) return mode;
  throw new CadastreError('BAD_FLAG', `--ipam=${name} is not a mode Cadastre knows`, {
    remedy: `Use one of: ${ourModes.map((one) => one.name).join(', ')}.`,
  });
}

export type Provider = Mode;
