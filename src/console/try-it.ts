/** In which header the page sends the token for changes. */
export const changeTokenHeader = 'cadastre-change-token';

/** What a person may do to the play of `cadastre up`. */
export interface TryIt {
  /** Whoever knows it may act: it is in the address that `cadastre up` prints, after `#token=`. */
  readonly changeToken: string;
  /** What is switched now. */
  switches(): { routersDown: string[]; secondAllocator: boolean };
  /** What was done, in words; throws HttpRefusal with the reason otherwise. */
  act(action: string, body: Record<string, unknown>): Promise<string>;
}
