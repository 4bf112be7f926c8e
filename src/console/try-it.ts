/** What a person may do to the play of `cadastre up`. */
export interface TryIt {
  /** What is switched now. */
  switches(): { routersDown: string[]; secondAllocator: boolean };
  /** What was done, in words; throws HttpRefusal with the reason otherwise. */
  act(action: string, body: Record<string, unknown>): Promise<string>;
}
