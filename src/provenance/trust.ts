import { createHash, createPublicKey } from 'node:crypto';
import { trustSchema } from './trust-schema.ts';

/** Trusted publisher: the owner of one of the keys, or a workflow with a sigstore certificate. */
export type Trust =
  | { keys: readonly string[] }
  | {
      /**
       * Identity in the certificate: `https://github.com/acme/svc/.github/workflows/release.yml@refs/tags/*`. The `*`
       * matches any ending.
       */
      identity: string;
      /** Issuer in the certificate: `https://token.actions.githubusercontent.com` */
      issuer: string;
      /** Content of sigstore's `trusted_root.json`. */
      root: object;
    };

/**
 * Parses a trust file: public keys in PEM format, or `{ identity, issuer, root }` as JSON or as an object.
 * @throws Error if the file contains neither
 */
export function parseTrust(given: string | object): Trust {
  const { data, error } = trustSchema.safeParse(typeof given === 'string' ? readText(given) : given);
  if (error)
    throw new Error(
      'it contains neither EC or RSA public keys in PEM format nor { "identity", "issuer", "root" }',
    );
  return data;
}

/**
 * Returns the names of the trusted signers: the identity of the workflow, or the fingerprints of the keys in the given
 * order. The names are the same on all servers.
 */
export const signerNamesOf = (trust: Trust): string[] =>
  'keys' in trust ? trust.keys.map(fingerprint) : [`${trust.identity} ${trust.issuer}`];

const fingerprint = (pem: string): string =>
  createHash('sha256')
    .update(createPublicKey(pem).export({ type: 'spki', format: 'der' }))
    .digest('hex');

function readText(text: string): unknown {
  const keys = text.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g);
  if (keys) return { keys };
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
