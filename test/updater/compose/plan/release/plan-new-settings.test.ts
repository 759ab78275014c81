import { describe, expect, it } from 'vitest';
import {
  type ReleaseSetting,
  releaseSettingsSchema,
} from '../../../../../src/core/release/release-settings.ts';
import { planNewSettings } from '../../../../../src/updater/compose/plan/release/plan-new-settings.ts';

const listed = (...settings: Partial<ReleaseSetting>[]) =>
  releaseSettingsSchema.parse(
    settings.map((each, at) => ({ name: `S${at}`, description: `what S${at} is for`, ...each })),
  );
const planned = (
  settings: Partial<ReleaseSetting>[],
  given: Record<string, string> = {},
  set: string[] = [],
) =>
  planNewSettings(
    listed(...settings),
    new Map(Object.entries(given)),
    (name) => set.includes(name),
    (generator) => `<${generator}>`,
  );

describe('planSettings', () => {
  const rows: [string, Partial<ReleaseSetting>, { given?: string; isSet?: boolean }, string | null][] = [
    ['a given value', { required: true }, { given: 'x' }, 'x: set S0'],
    ['a given value before a generated one', { generate: 'uuid' }, { given: 'x' }, 'x: set S0'],
    ['a given value in place of a set one', {}, { given: 'x', isSet: true }, 'x: set S0'],
    ['a generated value', { generate: 'hex32' }, {}, '<hex32>: set S0 to a generated value'],
    [
      'a generated value before the default',
      { generate: 'base64-32', default: 'y' },
      {},
      '<base64-32>: set S0 to a generated value',
    ],
    ['the default', { default: 'y', required: true }, {}, 'y: set S0 to its default'],
    ['nothing for a set one', { generate: 'uuid', default: 'y', required: true }, { isSet: true }, null],
    ['nothing for an optional one', {}, {}, null],
    ['nothing for an empty default', { default: '' }, {}, null],
  ];
  it.each(rows)('writes %s', (_, setting, { given, isSet }, expected) => {
    const values = planned([setting], given === undefined ? {} : { S0: given }, isSet ? ['S0'] : []);
    expect(values.map(({ value, words }) => `${value}: ${words}`)).toEqual(
      expected === null ? [] : [expected],
    );
  });

  it('reports all missing values in one error, with the options to add', () => {
    expect(() =>
      planned([{ required: true }, {}, { required: true, default: '' }, { required: true }], { S3: 'x' }),
    ).toThrow(
      expect.objectContaining({
        code: 'missing-variable',
        message: 'the release requires a value for S0 and S2',
        detail: ['S0: what S0 is for', 'S2: what S2 is for'],
        advice: 'Run {command} again with --set S0=… --set S2=….',
      }),
    );
  });

  it('refuses names that the release does not list', () => {
    expect(() => planned([{ required: true }], { A: 'hunter2', S0: 'x', B: 'y' })).toThrow(
      expect.objectContaining({
        code: 'settings-invalid',
        message: 'the release does not list A and B as a new setting',
      }),
    );
  });
});
