/** The folder that holds package.json. */
export const checkoutDir: string;
