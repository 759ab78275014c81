import { createPublicKey } from 'node:crypto';
import type { TrustMaterial } from '@sigstore/verify';
import { channelOf } from '../core/release/channel.ts';
import { parseReleaseFile, type ReleaseFile } from './release-file.ts';
import { signerNamesOf, type Trust } from './trust.ts';

/** Error for a release or channel file that cannot be verified. */
export class UnverifiedError extends Error {
  override readonly name = 'UnverifiedError';
}

/** Verified content of `release.json`, and its trusted signer. */
export type VerifiedRelease = ReleaseFile & { signer: string };

/** Product and version that a release must have. */
export interface ExpectedRelease {
  product: string;
  /** Required version; null accepts any version. */
  version: string | null;
}

/**
 * Verifies that a trusted publisher has signed `release.json`, and returns its content. Makes no network requests.
 * @param file - the bytes of `release.json`
 * @param bundle - the text of `release.json.sigstore.json`
 * @throws UnverifiedError
 */
export async function verifyRelease(
  file: Uint8Array,
  bundle: string,
  trust: Trust,
  wanted: ExpectedRelease,
): Promise<VerifiedRelease> {
  const signer = await verifySignature(file, bundle, trust);
  const told = rethrowAsUnverified(() => parseReleaseFile(file), 'release.json cannot be read');
  const { product, version, channel } = told;
  if (product !== wanted.product)
    throw new UnverifiedError(`it is a release of ${product}, not of ${wanted.product}`);
  if (wanted.version !== null && version !== wanted.version)
    throw new UnverifiedError(`the signed version is ${version}, not ${wanted.version}`);
  const expected = channelOf(version) ?? channel;
  if (channel !== expected)
    throw new UnverifiedError(`the signed channel is ${channel}, but ${version} is a ${expected} release`);
  return { ...told, signer };
}

/**
 * Verifies the signature of a file and returns the trusted signer.
 * @throws UnverifiedError
 */
export async function verifySignature(file: Uint8Array, text: string, trust: Trust): Promise<string> {
  // These packages are loaded on demand, because they are large. They are CommonJS, so a chunk exports only `default`.
  const [bundles, specs, verification] = await Promise.all([
    import('@sigstore/bundle'),
    import('@sigstore/protobuf-specs'),
    import('@sigstore/verify'),
  ]);
  const { bundleFromJSON } = bundles.default;
  const { TrustedRoot } = specs.default;
  const { toSignedEntity, toTrustMaterial, Verifier } = verification.default;
  const bundle = rethrowAsUnverified(
    () => bundleFromJSON(JSON.parse(text)),
    'the signature bundle cannot be read',
  );
  // Reject a bundle with a signed envelope, because the signature covers the envelope and not the file.
  if (bundle.content.$case !== 'messageSignature')
    throw new UnverifiedError('the signature bundle contains no file signature');
  const signed = rethrowAsUnverified(
    () => toSignedEntity(bundle, Buffer.from(file)),
    'the signature bundle cannot be read',
  );
  if ('keys' in trust) {
    if (signed.key.$case !== 'public-key')
      throw new UnverifiedError('it is signed with a certificate, not with a key');
    // A trusted key needs neither transparency log entries nor timestamps, so these are not checked.
    const alone = { ...signed, tlogEntries: [], timestamps: [] };
    const isBy = (key: string) => {
      const verifier = new Verifier(keyMaterial(key), {
        tlogThreshold: 0,
        ctlogThreshold: 0,
        timestampThreshold: 0,
      });
      try {
        verifier.verify(alone);
        return true;
      } catch {
        return false;
      }
    };
    const signer = signerNamesOf(trust)[trust.keys.findIndex(isBy)];
    if (signer === undefined) throw new UnverifiedError('it is not signed with a trusted key');
    return signer;
  }
  if (signed.key.$case !== 'certificate')
    throw new UnverifiedError('it is signed with a key, not with a certificate');
  const { identity } = rethrowAsUnverified(
    () => new Verifier(toTrustMaterial(TrustedRoot.fromJSON(trust.root))).verify(signed),
    'its signature is not valid',
  );
  const { subjectAlternativeName: name = '', extensions } = identity ?? {};
  if (extensions?.issuer !== trust.issuer)
    throw new UnverifiedError(
      `the identity of its signer was issued by ${extensions?.issuer}, not by ${trust.issuer}`,
    );
  const isWhole = !trust.identity.endsWith('*');
  if (isWhole ? name !== trust.identity : !name.startsWith(trust.identity.slice(0, -1)))
    throw new UnverifiedError(`it is signed by ${name}, not by ${trust.identity}`);
  return signerNamesOf(trust).join();
}

const keyMaterial = (pem: string): TrustMaterial => ({
  ...{ certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
  publicKey: () => ({ publicKey: createPublicKey(pem), validFor: () => true }),
});

/** Converts any error of `work` to an UnverifiedError. */
export function rethrowAsUnverified<T>(work: () => T, what: string): T {
  try {
    return work();
  } catch (cause) {
    throw new UnverifiedError(`${what}: ${(cause as Error).message}`, { cause });
  }
}
