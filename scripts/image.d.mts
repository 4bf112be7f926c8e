export type Architecture = 'amd64' | 'arm64';

export interface Image {
  /** An OCI image layout as one tar. */
  file: string;
  /** `docker.io/library/cadastre:VERSION` */
  reference: string;
  /** Of its manifest, or of the index of several: `sha256:…` */
  digest: string;
  /** Bytes of each layer, as it lies on a node and as it is pulled. */
  sizes: Array<{
    architecture: Architecture;
    layers: Array<{ name: string; size: number; packed: number }>;
  }>;
}

/** The image of the checkout as it is; for this machine's architecture unless others are named. */
export function ensureImage(options?: { architectures?: Architecture[] }): Promise<Image>;
/** The tree of each layer, in a folder of its name. */
export function writeRoots(folder: string): Promise<void>;
