import { expect, it } from 'vitest';
import {
  helperLineSchema,
  helperResultSchemas,
} from '../../../../src/updater/data/helper-program/helper-result.ts';
import { brokenFields } from '../../run/state/broken-fields.ts';

const look = {
  ...{
    type: 'directory',
    root: '/opt/svc/data',
    device: '8:1',
    fileSystem: 61267,
    bytes: 4096,
    length: 9000,
    files: 1,
  },
  ...{ size: 10_000, free: 5_000, freeFiles: 9, inside: ['a'], strange: ['b'], tooLong: ['c'] },
};
const results = {
  ...{
    look: [look],
    probe: { missing: ['holes'], fileSystem: 1, device: '8:1', size: 2, free: 1, freeFiles: 1 },
  },
  ...{ warm: null, cold: null, hash: ['a'.repeat(64)], restore: [[], ['x differs']], ports: [5432] },
  tables: { tables: { self: '' }, directories: [true] },
};

it.each(Object.keys(results) as (keyof typeof results)[])('accepts only a valid result of %s', (verb) => {
  expect(helperResultSchemas[verb].parse(results[verb])).toEqual(results[verb]);
  expect(helperResultSchemas[verb].safeParse(true).success).toBe(false);
  for (const { changed } of brokenFields(results[verb] ?? {}, ['tables']))
    expect(helperResultSchemas[verb].safeParse(changed).success).toBe(false);
});

it.each([
  ['nothing', null],
  ['an empty object', {}],
  ['progress without a number', { bytes: 'many' }],
  ['an unknown code', { error: 'x', code: 'broken' }],
  ['a mount that is none', { error: 'x', code: 'failed', at: 1 }],
  ['two things at once', { bytes: 1, result: null }],
])('rejects a line with %s', (_, line) => expect(helperLineSchema.safeParse(line).success).toBe(false));

it.each([{ bytes: 1 }, { result: [] }, { error: 'x', code: 'no-space', at: '/data/0' }])(
  'accepts the line %j',
  (line) => expect(helperLineSchema.parse(line)).toEqual(line),
);
