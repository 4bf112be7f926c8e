/**
 * What travels to the browser: rows, each with a kind and a key. A snapshot is
 * all of them, a delta those that changed. Shared by the server and the page.
 */
import type { Cause } from '../plan/doctor/causes.ts';
import type { PoolRoom } from '../plan/doctor/judge-pools.ts';
import type { TruthColumn, TruthRow } from '../plan/doctor/truth-row.ts';
import type { RouterView } from './router-view.ts';
import type { StoryRow } from './story-row.ts';

export interface PoolRow {
  name: string;
  cidrs: PoolCidr[];
  reserved: string[];
  /** In words; empty: every node. */
  selector: string;
  priority: number;
  cooldownSeconds: number;
  disabled: boolean;
  /** `Ready`, or the reason why it does not serve. */
  state: string;
  message: string;
  createdMs: number;
}

export interface PoolCidr {
  cidr: string;
  blockLength: number;
  capacity: number;
  assigned: number;
  cooling: number;
  /** Rested, but nobody says that the old node does not use them. */
  awaitingRelease: number;
  free: number;
}

export interface BlockRow {
  cidr: string;
  pool: string;
  node: string;
  phase: 'Active' | 'Draining' | 'Cooling' | 'Guard';
  sinceMs: number;
  /** Cooling: when it has rested, if an operator leads until then. */
  freeAtMs?: number;
  /** Who says that its old node does not use it, or what is missing for that. */
  release?: string;
}

export interface NodeRow {
  name: string;
  rack: string;
  addresses: string[];
  labels: Record<string, string>;
  createdMs: number;
  isLeaving: boolean;
  /** The operator's word: whether it has its blocks. */
  blocksState: { ok: boolean; reason: string; message: string } | null;
  agent: { isReady: boolean; reason: string; message: string; version: string } | null;
  /** Its NodeBlocks, without those that cool down. */
  register: string[];
  /** Records beside the register. */
  spec: string[];
  annotation: string[];
  cilium: string[] | null;
  /** From its report; null: it has not reported. */
  used: UsedBlock[] | null;
  kernel: { wanted: number; held: number; ownRoutes: string[]; refused: string[] } | null;
  sessions: SessionRow[];
  /** Why a block of its own is not advertised; without a peer: to no router at all. */
  unannounced: Array<{ cidr: string; peer?: string; reason: string; detail: string }>;
}

export interface UsedBlock {
  cidr: string;
  pods: number;
  resting: number;
  total: string;
  draining: boolean;
}

export interface SessionRow {
  peer: string;
  address: string;
  asn: number;
  state: string;
  lastError: string;
  /** When it was first seen in this state. */
  sinceMs: number;
  announced: Array<{ prefix: string; nextHop: string }>;
}

export interface PeerRow {
  name: string;
  address: string;
  asn: number;
  localAsn: number;
  selector: string;
}

export interface FindingRow {
  id: string;
  reason: string;
  severity: 'critical' | 'warning' | 'info';
  node: string;
  prefix: string;
  owner: string;
  says: Record<string, string>;
  hurtsNow: string[];
  hurtsIf: Array<{ event: string; nodes: string[]; prefixes: string[] }>;
  fix: string;
}

/** How much room a pool has, and for how long; the first to run out has the lowest place. */
export interface RoomRow extends PoolRoom {
  at: number;
}

/** What findings have in common; they are below it. */
export interface CauseRow extends Omit<Cause, 'findings'> {
  /** Its place: most pods hurt first. */
  at: number;
  /** Rows of `finding`. */
  findings: string[];
}

/** A column of the Truth table, in its place. */
export interface ColumnRow extends TruthColumn {
  at: number;
}

/** How far the comparison is. */
export interface JudgementRow {
  /** False: the console has just started, and missing routes are no findings yet. */
  isSettled: boolean;
  why: string;
}

export interface EntryRow {
  id: string;
  atMs: number;
  reason: string;
  node: string;
  cidr: string;
  text: string;
  isWarning: boolean;
}

export interface MetaRow {
  title: string;
  version: string;
  cluster: string;
  mode: string;
  /** How the reader calls the program; `cadastre` by default. */
  program?: string;
  /** Words before the commands that show the same, such as `--kubeconfig FILE`. */
  commandFlags: string;
  /** The play's switches; null outside `cadastre up`. */
  tryIt: { routersDown: string[]; secondAllocator: boolean } | null;
  /** Sources that were looked at, and those that could not be. */
  sources: Array<{ name: string; detail: string; isSeen: boolean }>;
}

export interface Rows {
  meta: MetaRow;
  pool: PoolRow;
  block: BlockRow;
  node: NodeRow;
  peer: PeerRow;
  router: RouterView;
  finding: FindingRow;
  cause: CauseRow;
  room: RoomRow;
  column: ColumnRow;
  truth: TruthRow;
  judgement: JudgementRow;
  entry: EntryRow;
  story: StoryRow;
}

export type RowKind = keyof Rows;

/** `null` says that the row is gone. */
export type RowChange = { [K in RowKind]: [kind: K, key: string, row: Rows[K] | null] }[RowKind];

export interface StateMessage {
  /** `EPOCH:NUMBER`: where a reader is in the stream of changes. */
  at: string;
  changes: RowChange[];
}
