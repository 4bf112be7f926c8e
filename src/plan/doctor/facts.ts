/** Words that findings share. */

/** In `says`: the source was asked and has nothing. */
export const none = 'not held';
