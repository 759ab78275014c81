import { readdir, rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Says } from '../judge/log.ts';
import { expectAttempt, shareInstance } from './support/attempt.ts';
import { ownData } from './support/own-data.ts';

// docs/contract.md 5.20: the content and cost of a restore point are planned, and possibly rejected, before any service
// stops.

const password = 'secret-pw';
const plan = ['plan', '--target', 'v1.1.0', '--restore-point'];

/** `store` looks like a search index that no service depends on; the database of the app is on another host. */
const instance = shareInstance({
  up: ['--no-deps', 'app', 'worker', 'db', 'store', 'proxy'],
  layout: (c) => {
    const { files, flags } = ownData({
      ...c,
      text: {
        environment: {
          DATABASE_URL: `postgres://svc:${password}@db.example.internal:5432/svc`,
          DB_HOST: 'db.example.internal',
          TRUSTED_DOMAIN: 'example.internal',
        },
        volumes: ['./library:/library'],
        service: { store: 'idle' },
        extra: { store: "volumes: ['store:/meili_data']", proxy: 'depends_on: [db]' },
      },
    });
    const text = files['compose.yaml'] ?? '';
    return {
      files: { ...files, 'compose.yaml': text.replace('volumes:\n  db:\n', 'volumes:\n  db:\n  store:\n') },
      flags,
    };
  },
});

const data = (entries: string) => `data: {${entries}}\n`;
const outside = 'db.example.internal: none';

test.each<[what: string, settings: string | null, refusal: string | null, says: Says]>([
  [
    'a database outside the project, and a store that is neither saved nor excluded',
    null,
    'data-undeclared',
    [
      'app uses a database on db.example.internal (DATABASE_URL), which is outside the project',
      /store \(\S+\/tunnel:1\), which looks like a search index, is neither saved nor excluded/,
      'In .svc-updater.yaml, set data: {store: save, db.example.internal: none}',
    ],
  ],
  [
    'everything declared',
    data(`${outside}, store: save, 'app:/library': none`),
    null,
    [
      /the restore point will contain db:\/var\/lib\/db \(\d+ \wB\), .*app:\/data \(\d+ \wB\)/,
      /store:\/meili_data/,
      /excluded from the restore point and therefore not restored by a rollback: app:\/library and the database on db\.example\.internal/,
      'services that will be stopped while the data is saved, then started again: db and store',
      /svc, db, store will be unavailable for \d+ s to \d+ min \(a guess, with up to \d+ s for stopping containers\)/,
      /the restore point needs \d+ \wB; .* is free in \S+\/\.svc-updater\/restore/,
      /these running containers will not be updated and will lose their connection to the data services: \S+-proxy-1 \(db\)/,
    ],
  ],
])('plan with %s', async (_, settings, refusal, says) => {
  if (settings !== null) await instance().write('.svc-updater.yaml', settings);
  const state = `${instance().directory}/.svc-updater`;
  await rm(state, { recursive: true, force: true });
  const names = await readdir(instance().directory);
  const result = await expectAttempt(instance(), plan, {
    exitCode: refusal === null ? 0 : 3,
    says,
    ends: [refusal === null ? 'planned: nothing was changed' : new RegExp(`^refused \\(${refusal}\\): `)],
    never: [password],
  });
  expect(await readdir(instance().directory), result.log).toEqual(names);
});
