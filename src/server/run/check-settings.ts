import { missingReason } from '../../wire/missing-settings.ts';
import type { OfferedSetting, Reason } from '../../wire/status.ts';
import type { StartOrder } from '../contract/instance-updates.ts';
import { UnknownSetting } from './update-service.ts';

/** Why a release cannot be installed with these values for its settings; null if it can. @throws UnknownSetting */
export function checkSettings(
  version: string,
  settings: readonly OfferedSetting[],
  given: StartOrder['settings'] = {},
): Reason | null {
  const names = settings.map(({ name }) => name);
  if (Object.keys(given).every((name) => names.includes(name)))
    return missingReason(version, settings, given);
  throw new UnknownSetting(`The new settings of ${version} are: ${names.join(', ') || 'none'}.`);
}
