export type GoTool = 'cnitool' | 'helm' | 'containerd' | 'coredns' | 'portmap';
/** The folder with the programs of a tool; built if need be. */
export function ensureGoTool(name: GoTool): Promise<string>;
