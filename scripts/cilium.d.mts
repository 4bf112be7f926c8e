/** Without a `v`. */
export const ciliumVersion: string;
/** The folder with cilium-agent, cilium-operator, cilium-cni, cilium-dbg and bpf/; built if need be. */
export function ensureCilium(): Promise<string>;
/** The same folder if it was built before. */
export function builtCilium(): string | undefined;
