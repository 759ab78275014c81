import { trustSchema } from './trust-schema.ts';

/** Who may sign: somebody with one of the keys, or a workflow that a certificate authority has seen. */
export type Trust =
  | { keys: readonly string[] }
  | {
      /**
       * As the certificate names it: `https://github.com/acme/svc/.github/workflows/release.yml@refs/tags/*`, where the `*`
       * stands for any end.
       */
      identity: string;
      /** `https://token.actions.githubusercontent.com` */
      issuer: string;
      /** What sigstore publishes as `trusted_root.json`. */
      root: object;
    };

/**
 * What a file says: public keys in PEM, one after the other, or the JSON of `{ identity, issuer, root }`. Or what is such an object
 * already. @throws Error
 */
export function readTrust(given: string | object): Trust {
  const { data, error } = trustSchema.safeParse(typeof given === 'string' ? readText(given) : given);
  if (error)
    throw new Error(
      'it contains neither EC or RSA public keys in PEM format nor { "identity", "issuer", "root" }',
    );
  return data;
}

function readText(text: string): unknown {
  const keys = text.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g);
  if (keys) return { keys };
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
