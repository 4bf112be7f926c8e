import type { Api, Target } from '../api.ts';
import { badRequest } from '../status.ts';
import type { Written } from './create.ts';
import type { WriteOptions } from './decode.ts';

export function applyConfiguration(
  _api: Api,
  _target: Target,
  _body: unknown,
  _options: WriteOptions,
): Written {
  throw badRequest('server-side apply is not served');
}
