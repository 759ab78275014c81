import { expect, it } from 'vitest';
import { findMissingSettingsReason } from '../../../src/wire/derived/missing-settings.ts';
import type { AddedReleaseSetting } from '../../../src/wire/status.ts';

const setting = (more: Partial<AddedReleaseSetting>): AddedReleaseSetting => ({
  ...{ name: 'A', description: '', required: true, secret: false },
  ...{ default: null, generated: false, isSet: false },
  ...more,
});

it.each<[string, Partial<AddedReleaseSetting>, Record<string, string>, isMissing: boolean]>([
  ['required', {}, {}, true],
  ['of a name that every object has', { name: 'constructor' }, {}, true],
  ['given empty', {}, { A: '' }, true],
  ['with an empty default', { default: '' }, {}, true],
  ['given', {}, { A: 'x' }, false],
  ['optional', { required: false }, {}, false],
  ['set', { isSet: true }, {}, false],
  ['generated', { generated: true }, {}, false],
  ['with a default', { default: 'x' }, {}, false],
])('decides whether a value is missing for a setting that is %s', (_, more, given, isMissing) => {
  const one = setting(more);
  const all = [setting({ name: 'OTHER', isSet: true }), one];
  const message = `v1.5.0 needs a value for ${one.name}`;
  expect(findMissingSettingsReason('v1.5.0', all, given)).toEqual(
    isMissing ? { code: 'settings-missing', message } : null,
  );
});
