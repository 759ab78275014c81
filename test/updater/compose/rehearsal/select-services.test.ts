import { expect, it } from 'vitest';
import type { ComposeModel } from '../../../../src/engine/cli/compose.ts';
import { selectRehearsedServices } from '../../../../src/updater/compose/rehearsal/select-services.ts';

const model: ComposeModel = {
  name: 'svc',
  services: {
    app: { depends_on: { db: {}, worker: {}, migrate: {} } },
    worker: { depends_on: { mail: {} } },
    db: { depends_on: { vault: {} } },
    vault: {},
    cache: {},
    queue: {},
    search: {},
    proxy: { depends_on: { app: {} } },
    migrate: { depends_on: { db: {} } },
    mail: {},
    off: {},
  },
};
const all = new Set(Object.keys(model.services).filter((name) => name !== 'off'));
const select = (changes: Partial<Parameters<typeof selectRehearsedServices>[1]> = {}) =>
  selectRehearsedServices(model, {
    ...{
      app: 'app',
      workers: ['worker'],
      covered: ['app', 'db', 'worker'],
      migrations: ['migrate'],
      available: all,
    },
    values: new Map(),
    names: new Map([
      ...Object.keys(model.services).map((name): [string, string[]] => [name, [name]]),
      ['cache', ['cache', 'svc-cache']],
    ]),
    ...changes,
  }).toSorted();

it('selects the app, its migrations, and what they depend on, without workers and proxies', () => {
  expect(select()).toEqual(['app', 'db', 'migrate', 'vault']);
});

it('selects services whose name or container name is in a variable', () => {
  const values = new Map([
    ['app', ['redis://svc-cache:6379/0', 'amqp://u:p@queue', 'off', 'searching', 'worker']],
    ['queue', ['http://search/']],
    ['proxy', ['mail']],
  ]);
  expect(select({ values })).toEqual(['app', 'cache', 'db', 'migrate', 'queue', 'search', 'vault']);
});

it('selects services with data, but not those that are not running', () => {
  expect(select({ covered: ['search', 'off'] })).toContain('search');
  expect(select({ covered: ['search', 'off'] })).not.toContain('off');
  expect(select({ available: new Set() })).toEqual(['app', 'migrate']);
});
