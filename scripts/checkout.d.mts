/** The folder that holds package.json. */
export const checkoutDir: string;
/** Things that are costly to make and safe to share between checkouts. */
export function cacheDir(): string;
