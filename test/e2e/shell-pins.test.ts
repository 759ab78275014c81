// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { execa } from 'execa';
import { beforeAll, describe, test } from 'vitest';
import { composeText } from '../rig/compose-text.ts';
import { expectAttempt, keepFiles, shareInstance } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone } from './support/instance.ts';

// A tag that only the shell had which started the instance, as Coolify gives it: the files lead elsewhere.

const toNext = ['--target', 'v1.1.0'];
const runsOn = /^refused \(drift\): nothing was changed, v1\.0\.0 runs on\. Next: /;

describe('the shell said v1.0.0', () => {
  const shared = shareInstance({
    ...alone,
    shell: { LATEST_IMAGE: 'v1.0.0' },
    files: (c) => ({
      'compose.prod.yaml': composeText({ app: `${c.image}:\${LATEST_IMAGE:-latest}`, parts: c.parts }),
      'part/compose.yaml': 'services: {}\n',
      'part/.env': 'LATEST_IMAGE=v3.0.0\n',
      '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nEMPTY=\n`,
    }),
  });
  beforeAll(async () => {
    await shared().publish('latest', { version: '2.0.0' });
    await shared().publish('v0.9.0', { version: '0.9.0' });
  });

  test.for([
    ['a release as the default', '@:${LATEST_IMAGE:-v0.9.0}', {}],
    ['nested', '@:${EMPTY:-${LATEST_IMAGE-latest}}', {}],
    ['the whole reference', '${SVC_IMAGE:-@:latest}', { line: 'SVC_IMAGE=@:v1.0.0' }],
    ['of the worker alone', '@:v1.0.0', { worker: '@:${LATEST_IMAGE:-latest}' }],
    [
      'set by a file that is included',
      '@:${LATEST_IMAGE:-latest}',
      { head: 'include: [part/compose.yaml]\n' },
    ],
  ] as const)('%s', async ([, app, given]) => {
    const instance = shared();
    await keepFiles(instance);
    const {
      worker = app,
      head = '',
      line = 'LATEST_IMAGE=v1.0.0',
    } = given as Partial<Record<string, string>>;
    const own = (text: string) => text.replace('@', instance.image);
    const images = [app, worker].map(own);
    const text = (await instance.read('compose.prod.yaml')).replace(
      /(?<=image: )\S+\/svc:\S+/g,
      () => `${images.shift()}`,
    );
    await instance.write('compose.prod.yaml', head + text);
    await expectAttempt(instance, ['plan', ...toNext], {
      exitCode: 3,
      says: [/worker: the files say \S+, not \S+:v1\.0\.0 \(no file sets \w+\)/],
      ends: [runsOn, `Add ${own(line)} to ${instance.directory}/.env, with what the shell had`],
      never: [/run docker compose.* up -d first/],
    });
  });

  test('made from an image by its id: what the files name is another one, or the same', async () => {
    const instance = shared();
    const { image } = instance;
    const text = await instance.read('compose.prod.yaml');
    const inspected = ['image', 'inspect', '--format', '{{.Id}}', `${image}:v1.0.0`];
    const { stdout: id } = await execa('docker', inspected);
    await instance.write('compose.prod.yaml', text.replaceAll(`${image}:\${LATEST_IMAGE:-latest}`, id));
    await instance.compose('up', '-d', '--no-deps', 'app', 'worker');
    await instance.write('compose.prod.yaml', text);
    await instance.waitUntilHealthy();
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: [`app: the files say ${image}:latest, not ${id} (no file sets LATEST_IMAGE)`],
      ends: [runsOn, 'Add LATEST_IMAGE=… to '],
    });
    await execa('docker', ['tag', id, `${image}:latest`]);
    await expectAttempt(instance, ['plan'], {
      exitCode: 0,
      says: ['v1.0.0 → latest: pull again'],
      ends: ['planned'],
    });
    await execa('docker', ['image', 'rm', `${image}:latest`]);
    await instance.compose('up', '-d', '--no-deps', 'app', 'worker');
    await instance.waitUntilHealthy();
  });

  test('the line of the advice makes the files say what runs, and the update goes where it was asked to', async () => {
    const instance = shared();
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: ['app: the files say'],
      ends: [runsOn, 'Add LATEST_IMAGE=v1.0.0 to '],
    });
    await instance.write('.env', `${await instance.read('.env')}LATEST_IMAGE=v1.0.0\n`);
    const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
    await updateWell(instance, toNext, { version: 'v1.1.0', changed });
  });
});
