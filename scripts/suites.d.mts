import type { GoTool } from './go-tools.d.mts';

export interface Needs {
  /** etcd, kube-apiserver, kube-controller-manager, kubectl */
  kube?: boolean;
  /** kubelet, kube-proxy, kube-scheduler, agnhost */
  cluster?: boolean;
  /** programs of other projects, from the table in go-tools.mjs */
  goTools?: GoTool[];
  /** the real Cilium, which is not built for it */
  cilium?: boolean;
  /** network namespaces */
  root?: boolean;
  /** packages, from the table in debian.mjs */
  debian?: string[];
  /** the same, where only some tests need them: without them those are skipped by name */
  optionalDebian?: string[];
}
export interface Suite {
  name: string;
  /** one line for `--list` */
  what: string;
  /** part of `--quick` */
  isQuick?: boolean;
  /** counts as one test: a program of node_modules/.bin and its arguments */
  command?: string[];
  /** test files, as patterns that testFiles() can read */
  include?: string[];
  /** files that end so belong to another suite */
  exclude?: string;
  /** long timeouts, one file at a time unless `workers` says more */
  usesRealParts?: boolean;
  /** leases that run out, silence on a wire: as with real parts, failed files are run once more */
  waitsForClocks?: boolean;
  /** files at a time, where they mostly wait and share nothing */
  workers?: number;
  needs?: Needs;
  /** skipped without complaint also where CI=true forgives nothing */
  mayBeSkipped?: boolean;
}
export const suites: Suite[];
/** The test files a suite would run. */
export function testFiles(suite: Suite): string[];
