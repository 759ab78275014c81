import { expect, test } from 'vitest';
import { releaseFiles } from '../rig/releases.ts';
import { expectWords } from './support/attempt.ts';
import { postgres, startWith } from './support/databases.ts';
import { createInstance } from './support/instance.ts';
import { createWithData } from './support/own-data.ts';
import { awaitRehearsed, expectNothingLeft, runIn } from './support/rehearsal.ts';

// docs/contract.md 13.2 and 13.3: what the rehearsed services see.

const toNext = ['rehearse', '--target', 'v1.1.0'] as const;
const waiting = { env: { READY_WHEN: 'go' } };
const rehearsed = /^rehearsed v1\.0\.0 → v1\.1\.0: v1\.1\.0 became ready on a copy of the data /;

test('a database under load has the same rows in the rehearsal, and loses none', async () => {
  const { instance, sql } = await startWith(postgres, []);
  await instance.publish('v1.1.0', waiting);
  await sql('CREATE TABLE load (n serial PRIMARY KEY, a int, b int)');
  let writes = 0;
  let isOver = false;
  const load = (async () => {
    while (!isOver) {
      await sql('INSERT INTO load (a, b) VALUES (1, 1), (2, 2); UPDATE load SET a = a + 1, b = b + 1');
      writes++;
    }
  })();
  const run = instance.startUpdate(toNext);
  const app = await awaitRehearsed(instance, run, 'v1.1.0');
  isOver = true;
  await load;
  const copy = `${app.Name.slice(1).replace(/app-1$/, 'db-1')}`;
  const rows = await runIn(
    { ...app, Id: copy },
    `PGPASSWORD=Tiger psql -XqAt -h 127.0.0.1 -U boss -d app -c 'SELECT count(*) > 0, count(*) % 2, bool_and(a = b) FROM load; SELECT count(*) FROM orders'`,
  );
  expect(rows, run.log).toBe('t|0|t\n3');
  await runIn(app, ': >/data/go-app');
  const result = await run.done;
  expectWords(result, { exitCode: 0, says: [], ends: [rehearsed] });
  expect(await sql('SELECT count(*) FROM load')).toBe(`${2 * writes}`);
  await expectNothingLeft(instance, result.log);
});

test('files of secrets, configs and env files, read-only mounts and image volumes are copied', async () => {
  const instance = await createWithData({
    publish: [],
    release: { volumes: ['/in-image'] },
    files: () => ({
      'key.txt': 'secret word\n',
      'app.conf': 'level = 1\n',
      'app.env': "FROM_FILE='a$b'\n",
      'more/sub/x': 'deep\n',
    }),
    text: {
      volumes: ['./more:/more:ro', '/etc/hostname:/etc/name', '/var/unnamed'],
      environment: { WITH_DOLLAR: "'a$$b'" },
      extra: {
        app: `env_file: app.env
secrets: [key, word]
configs: [{ source: conf, target: /etc/app.conf }]
tmpfs: [/scratch]
ulimits: { nofile: 4096 }`,
      },
      tail: `secrets:
  key: { file: ./key.txt }
  word: { environment: DB_PASSWORD }
configs:
  conf: { file: ./app.conf }
`,
    },
  });
  await instance.publish('v1.1.0', { ...waiting, volumes: ['/in-image'] });
  const live = `${instance.project}-app-1`;
  await runIn({ Id: live } as Parameters<typeof runIn>[0], 'echo kept >/in-image/file');
  const run = instance.startUpdate(toNext);
  const app = await awaitRehearsed(instance, run, 'v1.1.0');
  const seen = await runIn(
    app,
    `exec 2>&1; cat /run/secrets/key /run/secrets/word; echo; cat /etc/app.conf /more/sub/x /in-image/file; echo "$FROM_FILE $WITH_DOLLAR"; [ -s /etc/name ] && [ -d /scratch ] && ulimit -n; (echo no >/more/sub/x) 2>&1`,
  );
  expect(seen, run.log).toMatch(
    /^secret word\ncorrect horse battery\nlevel = 1\ndeep\nkept\na\$b a\$b\n4096\n.*Read-only file system/s,
  );
  await runIn(app, ': >/data/go-app; echo changed >/in-image/file');
  const result = await run.done;
  expectWords(result, { exitCode: 0, says: [], ends: [rehearsed] });
  const after = await runIn({ Id: live } as Parameters<typeof runIn>[0], 'cat /in-image/file');
  expect(after).toBe('kept');
  await expectNothingLeft(instance, result.log);
});

test('a release whose compose file adds a service, a volume and a mounted file is rehearsed', async () => {
  const instance = await createInstance({ kind: 'generated', publish: [] });
  const { files } = releaseFiles.addsService;
  const text = files['compose.yaml']
    .replace("'./data:/data'", "'./data:/data', 'more:/more', './plugins:/plugins', './.env:/env:ro'")
    .replace('depends_on: [db]', 'depends_on: [db, cache]')
    .replace('volumes:\n  db:', 'volumes:\n  more:\n  db:');
  await instance.publish('v1.1.0', { ...waiting, files: { ...files, 'compose.yaml': text } });
  const run = instance.startUpdate(toNext);
  const app = await awaitRehearsed(instance, run, 'v1.1.0');
  const seen = await runIn(
    app,
    'grep -c SVC_VERSION /env; ls /plugins; echo x >/more/x && echo ok; : >/data/go-app',
  );
  expect(seen, run.log).toBe('1\nok');
  const result = await run.done;
  expectWords(result, {
    exitCode: 0,
    says: [/services to start: .*cache/, 'empty in the rehearsal: app:/more'],
    ends: [rehearsed],
  });
  await expectNothingLeft(instance, result.log);
});

test('an instance whose directory is mounted elsewhere, with a project name and data outside, is rehearsed', async () => {
  const instance = await createWithData({ publish: ['v1.1.0'], project: 'other' });
  const result = await instance.update(toNext, { mount: '/compose' });
  expectWords(result, { exitCode: 0, says: [], ends: [rehearsed] });
  await expectNothingLeft(instance, result.log);
});
