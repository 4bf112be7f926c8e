/** Where the embedded API server answers a hostile request with another status, and why it may. */
export const differences: { what: RegExp; why: string }[] = [];
