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
