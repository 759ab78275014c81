import { describe, expect, it } from 'vitest';
import type { Undecided } from '../../../src/agent/data/declare.ts';
import { settingsText } from '../../../src/agent/init/settings-text.ts';
import { imagesOf } from '../../../src/agent/inspect/services/together.ts';
import { type InitOptions, parseOptions, type UpdateOptions } from '../../../src/agent/process/options.ts';
import { settingsOf } from '../../../src/agent/process/settings-file.ts';
import { composeText, modelOf, projectFiles } from '../../build-plan.ts';

const running = (images: Record<string, string>, env = '') => {
  const files = projectFiles({ 'compose.yaml': composeText(images), '.env': env });
  const found = imagesOf(files, modelOf(files));
  return found.map((each) => ({ ...each, isReached: false }));
};
const options = (...args: string[]) => parseOptions(['init', ...args], {}) as InitOptions;

it('tells what each service is pinned by, and what stays', () => {
  const [app, worker, ...others] = running(
    {
      server: 'acme/server:$TAG',
      worker: 'acme/server:$TAG',
      db: 'postgres:16',
      cache: 'r.example:5000/redis',
    },
    'A=1\nTAG=2025.10.2\n',
  );
  if (app === undefined || worker === undefined) throw new Error('no services');
  expect(
    settingsText({ app, workers: [worker], others, undecided: [] }, options(), [
      'compose.yml',
      'compose.override.yaml',
    ]),
  ).toBe(`# Read by svc-updater (update, plan and bump); what is given as an option wins.
# The first is the app, the others move with it.
services:
  - server  # acme/server, pinned by TAG in .env
  - worker  # acme/server, pinned by TAG in .env
# As they are: db (postgres:16) and cache (r.example:5000/redis)
`);
});

it('writes what was given with init, and what it writes is read as it was meant', () => {
  const [app, worker] = running({ no: 'acme/a:v1.0.0', '1e3': 'acme/a:v1.0.0' });
  if (app === undefined || worker === undefined) throw new Error('no services');
  const given = [
    '--leave',
    'on',
    '--leave',
    'b.c',
    '--version-var',
    'V',
    '--wait-timeout',
    '9',
    '--pull-timeout',
    '8',
  ];
  const text = settingsText({ app, workers: [worker], others: [], undecided: [] }, options(...given), [
    'compose.yaml',
    '/srv/a b.yaml',
  ]);
  // Whoever else reads it takes the first for false, and the second for a number.
  expect(text).toMatch(/- "no" .*\n.*- "1e3" /);
  const read = parseOptions([], {}, settingsOf({ path: '/opt/svc/.svc-updater.yaml', text }));
  expect(read).toMatchObject({ app: 'no', workers: ['1e3'], leave: ['on', 'b.c'], versionVariable: 'V' });
  const bump = parseOptions(['bump', '--to', 'v1.1.0'], {}, settingsOf({ path: '/.svc-updater.yaml', text }));
  expect(bump).toMatchObject({ services: ['no', '1e3'], files: ['compose.yaml', '/srv/a b.yaml'] });
  expect(read).toMatchObject({ waitTimeoutMs: 9_000, pullTimeoutMs: 8_000 });
});

describe('the data of restore points', () => {
  const proposed = (...undecided: Undecided[]): string => {
    const [app] = running({ app: 'acme/a:v1.0.0' });
    if (app === undefined) throw new Error('no service');
    const text = settingsText({ app, workers: [], others: [], undecided }, options(), ['compose.yaml']);
    return text.slice(text.indexOf('# Restore'));
  };
  const entry = (key: string, source: string, proposal: 'save' | 'none'): Undecided => {
    return { key, source, proposal, sentence: '' };
  };
  const db = entry('db', 'postgres:16', 'save');
  const no = entry('no', 'mysql:8', 'save');
  const host = entry('db.example', 'DATABASE_URL of app', 'none');

  it('is proposed and read as it was meant; data that cannot be saved is for a person to exclude', () => {
    const text = proposed(host, db, no);
    expect(
      text,
    ).toBe(`# Restore points (--restore-point) save the data of the services above and of those that they depend on, and:
data:
  db: save  # postgres:16
  "no": save  # mysql:8
#   db.example: none  # DATABASE_URL of app; cannot be saved: remove the first # to accept that
`);
    const read = (written: string) =>
      (
        parseOptions([], {}, settingsOf({ path: '/.svc-updater.yaml', text: written })) as UpdateOptions
      ).data.map(({ key, word }) => `${key} ${word}`);
    expect(read(text)).toEqual(['db save', 'no save']);
    expect(read(text.replace('#   db', '  db'))).toEqual(['db save', 'no save', 'db.example none']);
  });

  it('is left out if nothing can be saved, or nothing has to be declared', () => {
    const text = proposed(host);
    expect(text).toContain('\n# data:\n#   db.example: none  # ');
    expect(settingsOf({ path: '/.svc-updater.yaml', text }).size).toBe(0);
    expect(proposed()).not.toContain('data:');
  });
});
