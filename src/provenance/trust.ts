import { createPublicKey } from 'node:crypto';
import * as z from 'zod/mini';

/** The kinds that sigstore's bundles are signed with by a key. */
const isKey = (pem: string): boolean => {
  try {
    return ['ec', 'rsa'].includes(createPublicKey(pem).asymmetricKeyType ?? '');
  } catch {
    return false;
  }
};

const keys = z
  .array(z.string().check(z.refine(isKey, 'must be a public key in PEM, EC or RSA')))
  .check(z.minLength(1));
// A `*` behind a name would stand for other names, too.
const identity = z
  .string()
  .check(z.regex(/^[^*]+(?:(?<=[/@])\*)?$/, 'may have a * behind its last / or @ alone'));

const trustSchema = z.union([
  z.strictObject({ keys }),
  z.strictObject({ identity, issuer: z.url(), root: z.record(z.string(), z.unknown()) }),
]);

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
    throw new Error('it has neither public keys in PEM, EC or RSA, nor { "identity", "issuer", "root" }');
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
