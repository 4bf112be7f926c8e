import { describeError } from '../base/errors.ts';

/**
 * Why no exchange came about, on one line. OpenSSL's words come with the place in
 * its source and a line break; what is left is its reason.
 */
export function connectionFault(error: unknown): string {
  const words = describeError(error).trim();
  const openssl = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]+)/.exec(words);
  if (openssl === null) return words;
  const reason = openssl[1]!;
  if (reason === 'wrong version number') {
    return 'the server does not speak TLS there (it may want http:// or another port)';
  }
  return `TLS could not be set up: ${reason}`;
}

/** What to do about it, where that is another thing than to look at the network. */
export function remedyOfFault(fault: string): string | undefined {
  if (/certificate|altname|issuer/i.test(fault)) {
    return 'Check certificate-authority and the server name in the kubeconfig.';
  }
  if (/^TLS could not be set up: .*(base64|PEM|key|asn1|decode|unsupported)/i.test(fault)) {
    return 'Check client-certificate and client-key in the kubeconfig.';
  }
  if (/^invalid authorization header/.test(fault)) {
    return 'The token has characters in it that no token has: check token or tokenFile in the kubeconfig.';
  }
  if (/^invalid .* header/.test(fault)) {
    return 'Check the user of the kubeconfig: "as" has characters in it that no name has.';
  }
  return undefined;
}
