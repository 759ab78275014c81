import type { ChannelFile } from '../../src/provenance/channel-file.ts';
import type { publisher } from '../provenance/sign.ts';
import { type Forge, type Published, text } from './forge.ts';

/** A channel file of svc without notices, and with these changes. */
export const channelFile = (change: Partial<ChannelFile> = {}): ChannelFile => ({
  format: 1,
  product: 'svc',
  channel: 'stable',
  issuedAt: '2026-11-20T08:00:00Z',
  expires: '2027-02-18T08:00:00Z',
  urgent: null,
  recalled: [],
  rollout: null,
  ...change,
});

export const recallsOf = (...versions: string[]) =>
  versions.map((version) => ({ version, why: 'It loses data.' }));

/** File names of a channel file and its signature on a forge. */
export const copyNames = ['channel.json', 'channel.json.sigstore.json'] as const;

/** Hosts a channel file at a path, signed by `by` if it is not null. */
export function hostChannel(
  forge: Forge,
  told: object,
  by: ReturnType<typeof publisher> | null,
  path = '/channel.json',
): void {
  const file = JSON.stringify(told);
  forge.host(path, text(200, file));
  forge.host(`${path}.sigstore.json`, by ? text(200, by.sign(Buffer.from(file))) : text(404, ''));
}

/** Attaches a channel file to a release of a forge. */
export function attachChannel(
  forge: Forge,
  told: object,
  by: ReturnType<typeof publisher> | null,
  release: Published,
): Published {
  hostChannel(forge, told, by, forge.fileAt(release.tag, copyNames[0]));
  return { ...release, files: [...(release.files ?? []), ...(by ? copyNames : copyNames.slice(0, 1))] };
}
