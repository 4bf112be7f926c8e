/** The folder with etcd, kube-apiserver, kube-controller-manager and kubectl; built if need be. */
export function ensureKubeParts(): Promise<string>;
/** The folder with kube-scheduler, kubelet, kube-proxy and agnhost; built if need be. */
export function ensureClusterParts(): Promise<string>;
/** The binary of our own Go program test/parts/go/cmd/NAME; built if need be. */
export function ensureGoCommand(name: string): Promise<string>;
/** The program with Kubernetes' own end-to-end tests; built if need be (minutes, 2.2 GB of memory). */
export function ensureE2eTest(): Promise<string>;
/** The program with the tests of container runtimes, critest; built if need be. */
export function ensureCritest(): Promise<string>;
/** The folder with prometheus and promtool; built if need be. */
export function ensurePrometheus(): Promise<string>;
/** The same folder if it was built already. */
export function builtPrometheus(): string | undefined;
/** Where what is made of these inputs is, or would be. */
export function builtFolder(label: string, inputs: string[], module?: string): string;
/** Makes the folder unless it exists; one that exists is whole. */
export function buildOnce(
  label: string,
  inputs: string[],
  build: (dir: string) => Promise<void>,
  module?: string,
): Promise<string>;
/** `go build` of packages into a folder, with its progress on stderr. */
export function goBuild(
  dir: string,
  flags: string[],
  parts: { name: string; package: string }[],
  aboutSeconds: number,
  command?: string[],
  module?: string,
): Promise<void>;
