/** A request for a part of an object that is of another kind than the object. */
import type { Api, ObjectTarget } from '../api.ts';
import type { Subresource } from '../resource.ts';
import type { WriteQuery } from './decode.ts';
import type { PatchType } from './patch.ts';

export interface SubresourceCall {
  api: Api;
  target: ObjectTarget;
  part: Subresource;
  how: 'get' | 'create' | 'update' | PatchType;
  body: unknown;
  options: WriteQuery;
}

export interface SubresourceAnswer {
  code: number;
  body: object;
  /** Resolves when the change is on disk. */
  safe: Promise<void>;
}

export type ServeSubresource = (call: SubresourceCall) => SubresourceAnswer;
