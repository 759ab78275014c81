import { channelOf } from '../../../src/core/release/channel.ts';
import { compareVersions } from '../../../src/core/release/compare-versions.ts';
import type { ChannelFile } from '../../../src/provenance/channel-file.ts';

/** A command of `scripts/publisher`. */
export interface ChannelCommand {
  name: 'urgent' | 'recall' | 'rollout' | 'renew';
  /** The release: `urgent` is for all older versions. */
  version?: string | undefined;
  percent?: string | undefined;
  why?: string | undefined;
  url?: string | undefined;
  /** Removes what an earlier command added. */
  withdraw?: boolean | undefined;
}

/** The time of the change, and how many days the file is valid. */
export interface Validity {
  now: Date;
  days: number;
}

export const usualDays = 90;

/** A channel file without recalls. `issuedAt` and `expires` are set by `changeChannel`. */
export const firstChannelFile = (product: string, channel: ChannelFile['channel']): ChannelFile => ({
  ...{ format: 1, product, channel, issuedAt: '', expires: '' },
  ...{ urgent: null, recalled: [], rollout: null },
});

/**
 * The channel file after a command.
 * @param current the published file, or `firstChannelFile`
 * @throws Error with one sentence if the command makes no sense
 */
export function changeChannel(
  current: ChannelFile,
  command: ChannelCommand,
  { now, days }: Validity,
): ChannelFile {
  if (!Number.isInteger(days) || days < 1 || days > 366)
    throw new Error('--days must be a whole number from 1 to 366');
  if (current.issuedAt !== '' && Date.parse(current.issuedAt) >= now.getTime())
    throw new Error(
      `the current file was issued at ${current.issuedAt}, which is in the future: check the clock of this machine`,
    );
  const expires = new Date(now.getTime() + days * 24 * 60 * 60 * 1000);
  const dates = { issuedAt: now.toISOString(), expires: expires.toISOString() };
  return { ...current, ...commands[command.name](current, command), ...dates };
}

const commands: Record<
  ChannelCommand['name'],
  (current: ChannelFile, command: ChannelCommand) => Partial<ChannelFile>
> = {
  urgent(current, { version, why, withdraw }) {
    if (withdraw) {
      if (current.urgent === null) throw new Error('no update is urgent, so there is nothing to withdraw');
      if (version !== undefined && version !== current.urgent.below)
        throw new Error(`the urgent update is ${current.urgent.below}, not ${version}`);
      return { urgent: null };
    }
    const below = releaseOf(current, version);
    refuseRecalled(current, below);
    const last = current.urgent;
    if (last !== null && compareVersions(below, last.below) < 0)
      throw new Error(`${last.below} is urgent already and newer than ${below}: use urgent --withdraw first`);
    return { urgent: { below, why: reasonOf(why) } };
  },

  recall(current, { version, why, url, withdraw }) {
    const recalled = releaseOf(current, version);
    const others = current.recalled.filter((each) => each.version !== recalled);
    if (withdraw) {
      if (others.length === current.recalled.length)
        throw new Error(`${recalled} is not recalled, so there is nothing to withdraw`);
      return { recalled: others };
    }
    const entry = { version: recalled, why: reasonOf(why), ...(url !== undefined && { url }) };
    const all = [...others, entry].sort((a, b) => compareVersions(b.version, a.version));
    // There is nothing left to roll out.
    return { recalled: all, ...(current.rollout?.version === recalled && { rollout: null }) };
  },

  rollout(current, { version, percent = '', withdraw }) {
    const last = current.rollout;
    if (withdraw) {
      if (last === null) throw new Error('there is no staged rollout, so there is nothing to withdraw');
      if (version !== undefined && version !== last.version)
        throw new Error(`the staged rollout is of ${last.version}, not of ${version}`);
      return { rollout: null };
    }
    const rolledOut = releaseOf(current, version);
    if (!/^(?:100|[1-9]?\d)$/.test(percent))
      throw new Error(`the percentage must be a whole number from 0 to 100, not "${percent}"`);
    refuseRecalled(current, rolledOut);
    if (last !== null && compareVersions(rolledOut, last.version) < 0)
      throw new Error(
        `the current rollout is of ${last.version}, which is newer than ${rolledOut}: use rollout --withdraw first`,
      );
    return { rollout: { version: rolledOut, percent: Number(percent) } };
  },

  renew: () => ({}),
};

/** @throws Error if it is no release of the channel */
function releaseOf({ channel }: ChannelFile, version = ''): string {
  const actual = channelOf(version);
  if (actual === null) throw new Error(`"${version}" is not a release: use its tag, such as v1.5.0`);
  if (actual !== channel)
    throw new Error(`${version} is a ${actual} release, but this is the file of the ${channel} channel`);
  return version;
}

function refuseRecalled({ recalled }: ChannelFile, version: string): void {
  if (recalled.some((each) => each.version === version))
    throw new Error(`${version} is recalled: use a newer release, or recall ${version} --withdraw first`);
}

function reasonOf(why = ''): string {
  if (why.trim() === '') throw new Error('--why TEXT is missing: people read it before they decide');
  return why;
}

/** What changes, line by line. `before` is null for a first channel file. */
export function describeChange(before: ChannelFile | null, after: ChannelFile): string[] {
  const rows = (file: ChannelFile | null): [name: string, text: string][] => [
    ['issued', file?.issuedAt ?? 'never'],
    ['expires', file?.expires ?? 'never'],
    ['urgent', urgentWord(file?.urgent ?? null)],
    ...[
      ...new Set([before, after].flatMap((each) => each?.recalled.map(({ version }) => version) ?? [])),
    ].map((version): [string, string] => [`recall of ${version}`, recallWord(file, version)]),
    ['rollout', rolloutWord(file?.rollout ?? null)],
  ];
  const next = rows(after);
  return rows(before).flatMap(([name, text], at) => {
    const [, changed = ''] = next[at] ?? [];
    return text === changed ? [] : [`${name}: ${text} → ${changed}`];
  });
}

const urgentWord = (urgent: ChannelFile['urgent']): string =>
  urgent === null ? 'none' : `security update for all versions older than ${urgent.below} (${urgent.why})`;

function recallWord(file: ChannelFile | null, version: string): string {
  const entry = file?.recalled.find((each) => each.version === version);
  if (entry === undefined) return 'none';
  return `recalled (${entry.why}${entry.url === undefined ? '' : `, ${entry.url}`})`;
}

const rolloutWord = (rollout: ChannelFile['rollout']): string =>
  rollout === null ? 'none' : `${rollout.version} to ${rollout.percent} % of all instances`;
