/** Why a part cannot be had on this machine; the message says what to do. */
export class PartMissing extends Error {}
