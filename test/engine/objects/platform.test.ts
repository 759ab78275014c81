import { describe, expect, it } from 'vitest';
import { toContainer, toImage } from '../../../src/engine/objects/container.ts';
import { normalizePlatform } from '../../../src/engine/objects/platform.ts';

describe('parsePlatform', () => {
  it.each([
    ['linux/arm64', 'linux/arm64'],
    ['linux/arm64/v8', 'linux/arm64'],
    ['linux/arm/v7', 'linux/arm'],
    ['Linux/AArch64', 'linux/arm64'],
    ['x86_64', 'linux/amd64'],
    ['windows/amd64', 'windows/amd64'],
  ])('parses %s as %s', (text, platform) => {
    expect(normalizePlatform(text)).toBe(platform);
  });
});

describe('the platform', () => {
  const manifest = (architecture: string, more: object = {}) => ({
    ...{ ID: `sha256:${architecture}`, Kind: 'image', Available: true },
    ImageData: { Platform: { os: 'linux', architecture } },
    ...more,
  });
  it('of an index is the local platform', () => {
    const Manifests = [
      manifest('amd64', { Available: false }),
      manifest('arm64'),
      { ID: 'sha256:said', Kind: 'attestation', Available: true },
    ];
    const image = toImage({ Id: 'sha256:one', Os: 'linux', Architecture: 'arm64', Manifests });
    expect(image).toMatchObject({ platforms: ['linux/arm64'], manifests: ['sha256:arm64'] });
    expect(image).toMatchObject({ platform: 'linux/arm64' });
  });
  it('of an image without an index is the platform of the image', () => {
    const image = toImage({ Id: 'sha256:one', Os: 'linux', Architecture: 'arm', Variant: 'v7' });
    expect(image).toMatchObject({ platforms: ['linux/arm'], platform: 'linux/arm' });
  });
  it('of an image without a local platform is null', () => {
    expect(toImage({ Id: 'sha256:one', Os: '', Architecture: '' })).toMatchObject({
      platforms: [],
      platform: null,
    });
  });
  it('of a container is the platform of its manifest, or null', () => {
    const ImageManifestDescriptor = { platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } };
    expect(toContainer({ Id: 'one', ImageManifestDescriptor }).platform).toBe('linux/arm64');
    expect(toContainer({ Id: 'one' }).platform).toBeNull();
  });
});
