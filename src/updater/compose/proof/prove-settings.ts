import { UpdateError } from '../../../core/progress/update-error.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import { differences, isExtension } from './prove.ts';

/**
 * Checks that new settings, which `before` does not have, only change environment variables, and the texts of secrets and
 * configs. Values are not printed. Failure: proof-failed.
 */
export function proveSettings(before: Model, after: Model): void {
  const other = differences(before, after, []).flatMap(({ path }) => (isText(path) ? [] : [path.join('.')]));
  if (other.length === 0) return;
  throw new UpdateError(
    'proof-failed',
    'the new settings would change more than environment variables, so no file was written',
    {
      detail: other,
      advice: 'Use another variable for these settings in the compose files, then run {command} again.',
    },
  );
}

function isText([section = '', , key = '']: readonly string[]): boolean {
  if (section === 'services') return key === 'environment' || isExtension(key);
  return isExtension(section) || ((section === 'configs' || section === 'secrets') && key === 'content');
}
