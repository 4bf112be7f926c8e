/** Why a part cannot be had on this machine; the message says what to do. */
export class PartMissing extends Error {}
/** The folder with etcd, kube-apiserver, kube-controller-manager and kubectl; built if need be. */
export function ensureKubeParts(): Promise<string>;
/** The binary of our own Go program test/parts/go/cmd/NAME; built if need be. */
export function ensureGoCommand(name: string): Promise<string>;
