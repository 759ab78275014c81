import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** A publisher's key, and what makes a bundle of the form that `cosign sign-blob --key` writes. */
export function publisher(kind: 'ec' | 'rsa' = 'ec') {
  const { privateKey, publicKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { key, sign: (file: Uint8Array) => bundleOf(file, privateKey, key) };
}

function bundleOf(file: Uint8Array, key: KeyObject, hint: string): string {
  const signature = sign('sha256', file, key);
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: {
      publicKey: { hint: createHash('sha256').update(hint).digest('base64') },
      tlogEntries: [],
    },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(file).digest('base64') },
      signature: signature.toString('base64'),
    },
  });
}
