import type { Prefix } from '../net/prefix.ts';

/** A range that is not for pods: a Service network, or a node's own address. */
export interface NamedNetwork {
  name: string;
  prefix: Prefix;
  /** A node's own address; the range in the flags may lie around it. */
  isNode?: boolean;
}
