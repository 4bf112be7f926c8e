/** Fills a new folder with all that an image of Cadastre holds beside Node itself. */
export function fillImage(folder: string): Promise<void>;
