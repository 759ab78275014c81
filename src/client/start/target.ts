import { channelOf } from '../../release/channel.ts';
import { UsageError } from '../command.ts';

/** What somebody named to go to; null where they did not. @throws UsageError */
export function readTarget(given: string | true | undefined): string | null {
  if (given === undefined) return null;
  if (given === 'canary' || (typeof given === 'string' && channelOf(given) !== null)) return given;
  throw new UsageError(`--target needs a version like v1.5.0, or canary, not "${given}".`);
}
