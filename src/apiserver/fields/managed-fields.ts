import type { KubeObject } from '../object.ts';
import type { ResourceType } from '../resource.ts';

export interface Actor {
  fieldManager: string;
  subresource: string | undefined;
  now: string;
}

export function recordUpdate(
  _type: ResourceType,
  _old: KubeObject | undefined,
  _object: KubeObject,
  _actor: Actor,
): void {}
