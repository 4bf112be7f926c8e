import { readJsonFile, writeJsonFile } from './json-file.ts';

export interface DemoPod {
  name: string;
  id: string;
  netns: string;
}

/** The pods of one node, which a container runtime would remember. One write at a time. */
export class PodFile {
  readonly #path: string;
  readonly #pods: Map<string, DemoPod>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, pods: readonly DemoPod[]) {
    this.#path = path;
    this.#pods = new Map(pods.map((pod) => [pod.id, pod]));
  }

  static async load(path: string): Promise<PodFile> {
    return new PodFile(path, (await readJsonFile<DemoPod[]>(path)) ?? []);
  }

  get size(): number {
    return this.#pods.size;
  }

  all(): DemoPod[] {
    return [...this.#pods.values()];
  }

  add(pod: DemoPod): Promise<void> {
    this.#pods.set(pod.id, pod);
    return this.#write();
  }

  remove(id: string): Promise<void> {
    this.#pods.delete(id);
    return this.#write();
  }

  #write(): Promise<void> {
    const next = this.#writing.then(() => writeJsonFile(this.#path, this.all()));
    this.#writing = next.catch(() => {});
    return next;
  }
}
