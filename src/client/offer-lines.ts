import type { Status } from '../wire/status.ts';
import { sentence } from './shown.ts';
import { ago, between, duration } from './times.ts';

/** What there is to go to, and how fresh that is known. What comes from the server has been made fit to be shown. */
export function offerLines(status: Status): string[] {
  const { latest, next, upToDate, checkedAt, feedError, now } = status;
  const lines: string[] = [];
  if (next === null) {
    const checked = ago(checkedAt, now);
    const why = upToDate === null ? 'Nothing newer is known.' : sentence(upToDate.message);
    lines.push(checked === '' ? why : `${why} Checked ${checked}.`);
  } else {
    const published = ago(latest?.publishedAt, now);
    const about = `${published === '' ? '' : `, published ${published}`}${latest?.url ? `: ${latest.url}` : ''}`;
    lines.push(`${latest?.version ?? next.version} is available${about}`);
    if (latest !== null && latest.version !== next.version) {
      lines.push(`${next.version} has to come before it, and is what an update goes to now.`);
    }
    if (next.major) lines.push(`${next.version} is a major version; migrations only run forward.`);
    if (status.preparation !== null) lines.push(`Before an update: ${sentence(status.preparation)}`);
  }
  if (feedError !== null) {
    const wait = between(now, feedError.nextCheckAt);
    const again = wait === null ? '' : ` Next try in ${duration(wait)}.`;
    lines.push(`The last check failed: ${sentence(feedError.message)}${again}`);
  }
  return lines;
}
