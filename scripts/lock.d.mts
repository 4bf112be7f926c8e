export function withLock<T>(
  path: string,
  onWait: (waitedMs: number, owner: number) => void,
  work: () => Promise<T>,
): Promise<T>;
