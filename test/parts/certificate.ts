/** The same authority that the embedded API server issues its own certificates with. */

export type { Certificate } from '../../src/apiserver/certificate.ts';
export { createAuthority, issueCertificate } from '../../src/apiserver/certificate.ts';
