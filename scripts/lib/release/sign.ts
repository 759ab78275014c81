import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';

/** Who signs with a key. */
export interface Publisher {
  /** The public key, in PEM, as a trust file has it. */
  key: string;
  /** A bundle over these bytes, in the form that `cosign sign-blob --key` writes. */
  sign(file: Uint8Array): string;
}

/** One whose key nobody keeps. */
export function publisher(kind: 'ec' | 'rsa' = 'ec'): Publisher {
  const { privateKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return publisherOf(privateKey);
}

/** @param pem a private key, EC or RSA, without a password @throws Error that has nothing of it */
export function publisherWith(pem: string): Publisher {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new Error('it is no private key in PEM, or one with a password');
  }
  if (!['ec', 'rsa'].includes(key.asymmetricKeyType ?? ''))
    throw new Error('it has to be an EC or an RSA key');
  return publisherOf(key);
}

function publisherOf(privateKey: KeyObject): Publisher {
  const publicKey = createPublicKey(privateKey);
  const key = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { key, sign: (file) => bundleOf(file, privateKey, hintOf(publicKey)) };
}

/** By which cosign says with which key a file was signed. */
export const hintOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64');

/** https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto */
function bundleOf(file: Uint8Array, key: KeyObject, hint: string): string {
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: {
      publicKey: { hint },
      tlogEntries: [],
    },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(file).digest('base64') },
      signature: sign('sha256', file, key).toString('base64'),
    },
  });
}
