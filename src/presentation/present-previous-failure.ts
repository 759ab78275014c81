import type { Run } from '../wire/status.ts';
import { formatMessageClause } from '../wire/texts/messages.ts';
import { createMessageBox, type MessageBox } from './presentation-parts.ts';
import type { TextsAndFormats } from './texts-and-formats.ts';

/** Reminds of the last update if it was to this version, and failed. */
export function presentPreviousFailure(
  history: readonly Run[] | null,
  version: string,
  t: TextsAndFormats,
): MessageBox | null {
  const last = history?.find(({ kind }) => kind === 'update');
  if (last?.outcome !== 'failed' || last.to !== version) return null;
  const { cause, rolledBack } = last;
  return createMessageBox('warn', t.versionFailed(version, formatMessageClause(cause ?? '')), [
    rolledBack && t.rolledBackTo(rolledBack.version, t.moment(rolledBack.at)),
  ]);
}
