import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { composeText } from '../rig/compose-text.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Projects whose files refer to files in other directories by absolute paths.

const toNext = ['--target', 'v1.1.0'];

interface Home {
  instance: Instance;
  /** The directory of the included compose file, next to the project's. */
  apps: string;
  /** A third directory, with an env file of the app. */
  more: string;
}

/** As on TrueNAS: the rendered compose file only includes a user's file, with the `.env` in the user's directory. */
async function createIncluding(): Promise<Home> {
  const name = `${inject('host').run}-inc-${Math.random().toString(16).slice(2, 8)}`;
  const directory = join(inject('host').directory, name);
  const [apps, more] = [`${directory}-apps`, `${directory}-more`];
  for (const each of [apps, more]) onTestFinished(() => rm(each, { recursive: true, force: true }));
  const instance = await createInstance({
    ...alone,
    name,
    layout: (c) => ({
      files: {
        'compose.yaml': `include:\n  - path: ${apps}/stack.yaml\n    project_directory: ${apps}\n    env_file: "${apps}/conf/svc.env"\n`,
        [`../${name}-apps/stack.yaml`]: composeText({
          app: `${c.image}:\${SVC_VERSION:?}`,
          parts: c.parts,
          extra: { app: `env_file: ${more}/app.env` },
        }).replaceAll('./data', `${directory}/data`),
        [`../${name}-more/app.env`]: 'GREETING=hello\n',
        [`../${name}-apps/conf/svc.env`]: `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
  });
  return { instance, apps, more };
}

test('an update changes the env file of a compose file that is included by an absolute path and mounted at another path', async () => {
  const { instance, apps, more } = await createIncluding();
  const env = join(apps, 'conf/svc.env');
  const before = await readFile(env, 'utf8');
  const volumes = [`${apps}:/elsewhere`, `${more}:/elsewhere-more`];
  await updateWell(instance, toNext, { version: 'v1.1.0' }, { volumes });
  expect(await readFile(env, 'utf8')).toBe(before.replace('v1.0.0', 'v1.1.0'));
});
