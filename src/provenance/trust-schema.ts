import { createPublicKey } from 'node:crypto';
import * as z from 'zod/mini';

/** EC and RSA are the types of keys that sign sigstore bundles. */
const isKey = (pem: string): boolean => {
  try {
    return ['ec', 'rsa'].includes(createPublicKey(pem).asymmetricKeyType ?? '');
  } catch {
    return false;
  }
};

const keys = z
  .array(z.string().check(z.refine(isKey, 'must be an EC or RSA public key in PEM format')))
  .check(z.minLength(1));
// The `*` must follow `/` or `@`. Directly after a name, it would also match longer names.
const identity = z
  .string()
  .check(z.regex(/^[^*]+(?:(?<=[/@])\*)?$/, 'may contain * only at the end, directly after / or @'));

export const trustSchema = z.union([
  z.strictObject({ keys }),
  z.strictObject({ identity, issuer: z.url(), root: z.record(z.string(), z.unknown()) }),
]);
