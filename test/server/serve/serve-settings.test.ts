import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readServeSettings } from '../../../src/server/serve/serve-settings.ts';

const directory = mkdtempSync(join(tmpdir(), 'serve-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const secret = 's'.repeat(32);
const good = {
  PATH: '/bin',
  SVC_SERVE_VERSION: 'v1.0.0',
  SVC_SERVE_FEED: '{"url": "https://example.org/releases.json"}',
  SVC_SERVE_CALLBACKS_URL: 'http://app:8080/updates',
  SVC_SERVE_SECRET: secret,
};

const mistakesOf = async (env: NodeJS.ProcessEnv): Promise<string[]> => {
  const read = await readServeSettings(env);
  return 'mistakes' in read ? read.mistakes : [];
};
const form = 'must contain one line of at least 32 ASCII characters without spaces';

it('needs only a few variables', async () => {
  expect(await readServeSettings(good)).toEqual({
    settings: {
      port: 8080,
      path: '/api/v1/instance/update',
      callbacksUrl: 'http://app:8080/updates',
      queue: null,
      storeDirectory: '/store',
      secret,
      token: null,
      options: {
        version: 'v1.0.0',
        // The image of the service's own container.
        updaterImage: null,
        feed: { url: 'https://example.org/releases.json' },
        app: 'app',
      },
    },
  });
});

it.each([
  ['http://app:8080/updates', 'larder_web', 'http://larder_web:8080/updates'],
  ['http://app:8080/updates', 'app', 'http://app:8080/updates'],
  ['http://app.example.org/updates', 'web', 'http://app.example.org/updates'],
])('sends the callbacks for %s to the app of the instance, %s', async (address, app, expected) => {
  const read = await readServeSettings({ ...good, SVC_SERVE_CALLBACKS_URL: address, SVC_SERVE_APP: app });
  expect(read).toMatchObject({ settings: { callbacksUrl: expected, options: { app } } });
});

it('rejects a service name that cannot be the host of the callbacks', async () => {
  expect(await mistakesOf({ ...good, SVC_SERVE_APP: 'My_App.1' })).toEqual([
    'callbacksUrl cannot contain the service name My_App.1',
  ]);
});

it('reads a file, and variables override its values', async () => {
  const path = file(
    'serve.yaml',
    `product: { name: larder, services: [web, updates] }
version: v0.9.0
port: 9000
path: /updates
tokenFile: ${file('token', 't'.repeat(40))}
prefetch: { from: '23:00', to: '05:00' }
`,
  );
  const variables = {
    ...{ SVC_SERVE_FILE: path, SVC_SERVE_PORT: '9001', SVC_SERVE_RESTORE_POINT: 'true' },
    ...{ SVC_SERVE_WORKERS: '["jobs"]', SVC_SERVE_ENGINE: '' },
  };
  expect(await readServeSettings({ ...good, ...variables })).toMatchObject({
    settings: {
      port: 9001,
      path: '/updates',
      token: 't'.repeat(40),
      options: {
        product: { name: 'larder', services: ['web', 'updates'] },
        version: 'v1.0.0',
        app: 'web',
        restorePoint: true,
        workers: ['jobs'],
        prefetch: { from: '23:00', to: '05:00' },
      },
    },
  });
});

it('needs no callbacks if the product has no queue', async () => {
  const env = { ...good, SVC_SERVE_CALLBACKS_URL: '' };
  expect(await mistakesOf(env)).toEqual(['callbacksUrl must be set, unless queue is none']);
  expect(await readServeSettings({ ...env, SVC_SERVE_QUEUE: 'none' })).toMatchObject({
    settings: { queue: 'none', callbacksUrl: null },
  });
});

it.each(['secret', 'token'])('reads the %s from a variable or a file, but not from both', async (name) => {
  const { SVC_SERVE_SECRET: _, ...others } = good;
  const env = name === 'secret' ? others : good;
  const variable = `SVC_SERVE_${name.toUpperCase()}`;
  const digits = '1234567890'.repeat(4);
  const inFile = { [`${variable}_FILE`]: file('given', `${digits}\n`) };
  for (const given of [{ [variable]: digits }, inFile])
    expect(await readServeSettings({ ...env, ...given })).toMatchObject({ settings: { [name]: digits } });
  expect(await mistakesOf({ ...env, [variable]: digits, ...inFile })).toEqual([
    `set ${name} or ${name}File, not both`,
  ]);
  for (const value of ['short', '{"a": "b"}'])
    expect(await mistakesOf({ ...env, [variable]: value })).toEqual([`${name} ${form}`]);
  const inYaml = file('number.yaml', `${name}: ${digits}\n`);
  expect(await mistakesOf({ ...env, SVC_SERVE_FILE: inYaml })).toEqual([`${name} ${form}`]);
  const none = name === 'secret' ? ['secret or secretFile must be set'] : [];
  expect(await mistakesOf(env)).toEqual(none);
});

it('accepts the settings of docs/any-backend.md', async () => {
  const page = readFileSync(new URL('../../../docs/any-backend.md', import.meta.url), 'utf8');
  const text = /```yaml\n(product:[^`]*)```/.exec(page)?.[1] ?? '';
  const env = { SVC_SERVE_FILE: file('documented.yaml', text), SVC_SERVE_VERSION: 'v1.0.0' };
  expect(await readServeSettings({ ...env, SVC_SERVE_SECRET: secret })).toMatchObject({
    settings: { secret, options: { product: { name: 'larder' }, app: 'app' } },
  });
});

it('reports all mistakes together', async () => {
  const read = await readServeSettings({
    SVC_SERVE_FILE: file('list.yaml', '- a\n'),
    SVC_SERVE_PORT: '99999',
    SVC_SERVE_CALLBACKS_URL: 'http://anna:secret@app',
    SVC_SERVE_SECRET_FILE: file('short', 'short'),
    SVC_SERVE_QUEUE: 'redis',
    SVC_SERVE_TOKEN_FILE: join(directory, 'missing'),
    SVC_SERVE_FEED: '{"url": ',
    SVC_SERVE_UPDATER_IMAGE: '--privileged',
    SVC_SERVE_COLOUR: 'red',
  });
  const mistakes = 'mistakes' in read ? read.mistakes : [];
  // Each mistake is one line.
  expect(mistakes.filter((mistake) => /\n/.test(mistake))).toEqual([]);
  expect(mistakes).toContain('✖ Invalid input: expected string, received undefined → at version');
  const text = mistakes.join('\n');
  for (const part of [
    'list.yaml must contain YAML settings, such as "port: 8080"',
    'port',
    'must not contain credentials, a query or a fragment',
    `short ${form}`,
    'expected "none"',
    'missing cannot be read',
    'SVC_SERVE_FEED is not valid JSON',
    'must be an image reference',
    'version',
    'colour',
  ])
    expect(text).toContain(part);
  expect(text).not.toContain('secret@');
});

const forFunctions = 'authorize store afterStep beforeUpdate buildServers log onEnd'.split(' ');
it.each([
  ...forFunctions.map((key) => [key, `${key}: { hold: x }`]),
  ['onEnd', 'onEnd: null'],
  ['preparation', 'preparation: The database is dumped first'],
  ['preparationTimeoutSeconds', 'preparationTimeoutSeconds: 5'],
])('rejects an option that has no effect: %s', async (key, text) => {
  const mistakes = [`${key} cannot be set: this option is only for programs that embed the library`];
  const path = file('functions.yaml', `${text}\n`);
  expect(await readServeSettings({ ...good, SVC_SERVE_FILE: path })).toEqual({ mistakes });
  // All other mistakes are listed, too.
  const more = { SVC_SERVE_FILE: path, SVC_SERVE_PORT: '80.5', SVC_SERVE_STORE_DIRECTORY: 'store' };
  expect(await readServeSettings({ ...good, ...more })).toEqual({
    mistakes: expect.arrayContaining([
      ...mistakes,
      expect.stringMatching(/^✖ .* → at port$/),
      '✖ must be an absolute path → at storeDirectory',
    ]),
  });
});

it.each(['\n', ' ', 'é', '\0'])('rejects a secret that no header can contain: %j', async (part) => {
  const text = ['s'.repeat(32), 't'.repeat(32)].join(part);
  const inFile = { ...good, SVC_SERVE_SECRET: '', SVC_SERVE_SECRET_FILE: file('odd', text) };
  expect(await mistakesOf(inFile)).toEqual([
    expect.stringMatching(/^secretFile: .*odd must contain one line/),
  ]);
  expect(await mistakesOf({ ...good, SVC_SERVE_SECRET: text })).toEqual([`secret ${form}`]);
});

it('does not quote lines of a file that is not valid YAML', async () => {
  const path = file('broken.yaml', 'a: b\nfeed: { headers: { authorization: hush }\n');
  const read = await readServeSettings({ ...good, SVC_SERVE_FILE: path });
  expect(read).toEqual({
    mistakes: [expect.stringMatching(/broken.yaml cannot be read: .* at line 3, column 1$/)],
  });
});
