import { createHash } from 'node:crypto';
import { type Channel, channelOf, isNewerVersion, type Release } from '../../core/release/channel.ts';
import {
  type CommandContext,
  CommandFailedError,
  interruptedExitCode,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { replaceClientFile, requireReplaceableClientFile } from './client-file.ts';
import { createUpdateFailedError, createUpdateRefusedError } from './client-update-errors.ts';
import { type AssetDownloadOptions, clientFileDownloadLimits, downloadAsset } from './download-asset.ts';
import {
  fetchChecksum,
  fetchNewestRelease,
  fetchVerifiedChecksum,
  requireAsset,
  requireFeedAddress,
} from './fetch-newest-release.ts';

/** Replaces the client with a channel's newest release. On error, the client is unchanged (docs/contract.md 9). */
export async function updateClient(channel: Channel, context: CommandContext): Promise<void> {
  const { signal, version: current, stdout, env } = context;
  const { name } = getProductNames();
  const feed = requireFeedAddress(env);
  const file = await requireReplaceableClientFile();
  if (channelOf(current) === null)
    throw createUpdateRefusedError(
      `This ${name} is a development build (${current}).`,
      'install a release manually.',
    );
  try {
    const release = await fetchNewestRelease(feed, channel, signal);
    if (release === null || !isNewerVersion(release.version, current)) {
      stdout.write(`${explainUnchangedClient(current, release, channel)}\n`);
      return;
    }
    const { version } = release;
    const bytes = await downloadClientFile(release, { name: file.asset, feed }, context);
    await replaceClientFile(file, { bytes, version }, signal);
    stdout.write(`✓ ${name} was updated: ${current} → ${version}\n`);
  } catch (error) {
    if (signal.aborted && error === signal.reason)
      throw new CommandFailedError(interruptedExitCode, `Cancelled. ${file.path} was not changed.`);
    throw error;
  }
}

/** Downloads a release's client file, and verifies its checksum before the file is written or run. */
async function downloadClientFile(
  release: Release,
  { name, feed }: { name: string; feed: string },
  context: CommandContext,
): Promise<Buffer> {
  const { signal, trust, stdout } = context;
  const asset = requireAsset(release, name);
  if (trust === null)
    stdout.write(
      `${name} is checked only against SHA256SUMS, because this client was built without a trusted key.\n`,
    );
  const from = { feed, signal };
  const sum = await (trust === null
    ? fetchChecksum(release, name, from)
    : fetchVerifiedChecksum(release, name, trust, from));
  stdout.write(`Downloading ${name} ${release.version}\n`);
  const onProgress = progressLines(context);
  const bytes = await downloadAsset({ asset, feed, signal, limits: clientFileDownloadLimits, onProgress });
  if (createHash('sha256').update(bytes).digest('hex') !== sum)
    throw createUpdateFailedError(
      `the checksum of the downloaded ${name} does not match the one in its release.`,
      'run the update again. If the error persists, the file may have been tampered with: report it to the publisher.',
    );
  return bytes;
}

/** Returns a function that prints a progress line every ten seconds. */
function progressLines({ stdout, now }: CommandContext): NonNullable<AssetDownloadOptions['onProgress']> {
  const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1);
  let writtenAt = now();
  return (bytes, total) => {
    if (now() - writtenAt < 10_000) return;
    writtenAt = now();
    stdout.write(`${megabytes(bytes)}${total === null ? '' : ` of ${megabytes(total)}`} MB\n`);
  };
}

function explainUnchangedClient(current: string, release: Release | null, channel: Channel): string {
  const client = `${getProductNames().name} ${current}`;
  if (release === null) return `${client} was not changed: no release has been published on ${channel} yet.`;
  if (isNewerVersion(current, release.version))
    return `${client} was not changed: it is newer than ${release.version}, the latest release on ${channel}.`;
  return `${client} is the latest release on ${channel}.`;
}
