import { createHash } from 'node:crypto';
import type { publisher } from '../provenance/sign.ts';
import { type Forge, type Published, type Reply, text } from './forge.ts';

export const sha256 = (content: string | Buffer) =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`;

/** The release.json of a release of svc. */
export const releaseFile = (version: string, more: object = {}) => ({
  format: 1,
  product: 'svc',
  version,
  channel: version.includes('-') ? 'canary' : 'stable',
  publishedAt: '2026-11-20T08:00:00Z',
  requires: null,
  images: {
    app: {
      reference: `ghcr.io/acme/svc:${version}`,
      digest: sha256('index'),
      platforms: {
        'linux/amd64': { manifest: sha256('amd64'), config: sha256('amd64 config') },
        'linux/arm/v7': { manifest: sha256('arm'), config: sha256('arm config') },
      },
    },
  },
  files: { 'compose.yaml': sha256('compose') },
  ...more,
});

export const names = ['release.json', 'release.json.sigstore.json'] as const;

/** Changes that prevent the verification. */
export interface Tampering {
  /** Responses in place of the files. */
  replies?: Partial<Record<(typeof names)[number], Reply>>;
}

/** Hosts the two files of a release, and returns the release for the forge. */
export function attach(
  forge: Forge,
  by: ReturnType<typeof publisher>,
  told: { version: string },
  { replies = {} }: Tampering = {},
  tag = told.version,
): Published {
  const signed = JSON.stringify(told);
  const [fileName, bundleName] = names;
  forge.host(forge.fileAt(tag, fileName), replies[fileName] ?? text(200, signed));
  forge.host(forge.fileAt(tag, bundleName), replies[bundleName] ?? text(200, by.sign(Buffer.from(signed))));
  return { tag, files: names };
}
