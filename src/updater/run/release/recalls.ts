import { UpdateError } from '../../../core/errors/update-error.ts';
import { readLimitedFile } from '../../../core/files/read-limited-file.ts';
import type { Target } from '../../../core/release/target.ts';
import {
  type ChannelFile,
  findRecall,
  formatRecall,
  isChannelFileExpired,
  parseUnverifiedChannelFile,
  verifyChannelFile,
} from '../../../provenance/channel-file.ts';
import { parseTrust } from '../../../provenance/trust.ts';
import type { UpdateOptions } from '../options/update-options.ts';
import type { RunContext } from '../run-context.ts';

/** Releases that the publisher recalled, from `--channel-file`. */
export interface Recalls extends Pick<ChannelFile, 'recalled'> {
  /** Whether the operator allows an update to a recalled release. */
  accepted: boolean;
}

/**
 * Reads the channel file (docs/contract.md 3.24); returns null if there is no file. Warns if the file has expired.
 * Rejects a recalled target, or only warns if the operator accepts the recall.
 * @throws UpdateError not-proven, recalled
 */
export async function readRecalls({
  options,
  log,
  startedAt,
}: Pick<RunContext, 'options' | 'log' | 'startedAt'>): Promise<Recalls | null> {
  const { target, proof } = options;
  if (proof.channelFile === null) return null;
  const file = await readChannelFile(proof.channelFile, options);
  if (isChannelFileExpired(file, startedAt))
    log.warn(
      `${proof.channelFile} expired at ${file.expires}, so newer recalls may be missing; get the current channel file from the publisher`,
    );
  const recalls = { recalled: file.recalled, accepted: options.acceptRecalled };
  for (const warning of requireNotRecalled(recalls, target?.kind === 'release' ? target.version : null))
    log.warn(warning);
  return recalls;
}

/**
 * Returns a warning instead of throwing if the operator accepts recalled releases.
 * @throws UpdateError recalled
 */
export function requireNotRecalled(recalls: Recalls | null, version: string | null): string[] {
  const recall = recalls === null || version === null ? null : findRecall(recalls, version);
  if (recall === null) return [];
  const page = recall.url === undefined ? '' : ` (${recall.url})`;
  const message = `${formatRecall(recall)}${page}`;
  if (recalls?.accepted) return [message];
  throw new UpdateError('recalled', message);
}

/** The signature is only verified if there is a trust file. @throws UpdateError not-proven */
async function readChannelFile(
  path: string,
  { proof, product, target }: UpdateOptions,
): Promise<ChannelFile> {
  try {
    const bytes = await read(path);
    const told =
      proof.trust === null
        ? parseUnverifiedChannelFile(bytes, product.name)
        : await verifyChannelFile(
            bytes,
            String(await read(`${path}.sigstore.json`)),
            parseTrust(String(await read(proof.trust))),
            { product: product.name },
          );
    const channel = channelOfTarget(target);
    if (channel !== null && told.channel !== channel)
      throw new Error(
        `this is the channel file of the ${told.channel} channel, but the target is on the ${channel} channel`,
      );
    return told;
  } catch (cause) {
    throw new UpdateError('not-proven', `${path}: ${(cause as Error).message}`, {
      advice:
        'Get the channel file and its signature bundle from the publisher again, then run {command} again.',
      cause,
    });
  }
}

/** Null for a floating tag, which may belong to the stable or the canary channel. */
function channelOfTarget(target: Target | null): ChannelFile['channel'] | null {
  if (target?.kind === 'canary') return 'canary';
  return target?.kind === 'release' ? 'stable' : null;
}

const read = (path: string): Promise<Buffer> =>
  readLimitedFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${cause.code})`, { cause });
  });
