import { UpdateError } from '../../../../core/errors/update-error.ts';
import type { ReleaseSetting } from '../../../../core/release/release-settings.ts';
import { joinWithAnd } from '../../../run/log/format-values.ts';

/** A setting that the update writes. `words` describes the change without the value. */
export type NewSetting = Record<'name' | 'value' | 'words', string>;

/**
 * Chooses the value of each new setting: the given value, a generated value, or the default. An existing value is
 * changed only if a value is given.
 * @param listed - the settings that are new in the release
 * @throws UpdateError settings-invalid, missing-variable
 */
export function planNewSettings(
  listed: readonly ReleaseSetting[],
  given: ReadonlyMap<string, string>,
  isSet: (name: string) => boolean,
  generate: (generator: NonNullable<ReleaseSetting['generate']>) => string,
): NewSetting[] {
  const unknown = [...given.keys()].filter((name) => !listed.some((setting) => setting.name === name));
  if (unknown.length > 0)
    throw new UpdateError(
      'settings-invalid',
      `the release does not list ${joinWithAnd(unknown)} as a new setting`,
    );
  const missing = listed.filter(
    (each) => each.required && !each.generate && !each.default && !given.has(each.name) && !isSet(each.name),
  );
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name);
    throw new UpdateError('missing-variable', `the release requires a value for ${joinWithAnd(names)}`, {
      advice: `Run {command} again with ${names.map((name) => `--set ${name}=…`).join(' ')}.`,
      detail: missing.map(({ name, description }) => `${name}: ${description}`),
    });
  }
  return listed.flatMap(({ name, generate: generator, default: usual }) => {
    const value = given.get(name);
    if (value !== undefined) return [{ name, value, words: `set ${name}` }];
    if (isSet(name)) return [];
    if (generator) return [{ name, value: generate(generator), words: `set ${name} to a generated value` }];
    return usual ? [{ name, value: usual, words: `set ${name} to its default` }] : [];
  });
}
