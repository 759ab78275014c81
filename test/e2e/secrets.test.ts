import { execa } from 'execa';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { UpdaterOptions } from '../rig/updater-run.ts';
import { shareInstance } from './support/attempt.ts';
import { bump as bumpIn } from './support/bump.ts';
import { runUpdater } from './support/good-run.ts';
import type { Instance } from './support/instance.ts';
import { configJson, everything, foundIn, planted, plantedLayout, shell, shown } from './support/planted.ts';

// docs/contract.md 6.5 to 6.10: no secret is logged, wherever it is stored and whatever the outcome of the run.
// test/updater/run/log/mask.test.ts tests every form of a value.

const accept = '--accept-drift';

/** Exits the updater like a kill, after the containers are replaced. */
const killer = `import{subscribe}from'node:diagnostics_channel';
  subscribe('svc-updater.step',({kind})=>{if(kind==='verify')process.reallyExit(137)})`;

/** Edits a file during one run. */
async function edited<T>(
  instance: Instance,
  path: string,
  edit: (text: string) => string,
  run: () => Promise<T>,
): Promise<T> {
  const before = await instance.read(path);
  const after = edit(before);
  expect(after).not.toBe(before);
  await instance.write(path, after);
  try {
    return await run();
  } finally {
    await instance.write(path, before);
  }
}

const replaced = (from: string | RegExp, to: string) => (text: string) => text.replace(from, () => to);

describe('the log contains no secret', () => {
  const shared = shareInstance({ layout: plantedLayout, shell, publish: ['v1.1.0'] });
  beforeAll(async () => {
    const instance = shared();
    await instance.publish('v1.2.0', {
      entrypoint: [
        '/bin/sh',
        '-c',
        'if [ "$1" = worker ]; then while :; do sleep 1; done; fi; echo "$MONKEY at $POSTGRES_DB"; env; cat /run/secrets/* /etc/svc.ini; cat /data/told; exit 1',
        'sh',
      ],
    });
    await instance.write('data/told', everything());
    await instance.write('login/config.json', configJson(inject('host').registry));
    const changed = replaced(`CHANGES=${planted.changedSince}`, `CHANGES=now\nSINCE=${planted.addedSince}`);
    await instance.write('app.env', changed(await instance.read('app.env')));
    // The value of a service that is not updated: neither its container nor any file contains the complete value.
    const assembled = `ASSEMBLED=\${PART}+\${PART}+\${PART}\n`;
    await instance.write('db.env', `${await instance.read('db.env')}${assembled}`);
  });

  const json = ['--log', 'json'];
  const to = (target: string) => ['--target', target, accept, ...json];
  const run = async (
    exitCode: number,
    says: string | RegExp,
    args: string[],
    options: UpdaterOptions = {},
  ) => {
    const volumes = [`${shared().directory}/login:/root/.docker:ro`];
    const result = await runUpdater(shared(), args, { volumes, ...options });
    expect(result.exitCode, result.log).toBe(exitCode);
    expect(result.log).toMatch(says);
    expectNone(result.log);
    return result.log;
  };
  const expectNone = (log: string) => expect(foundIn(log), log).toEqual([]);
  const withText = (path: string, from: string | RegExp, words: string, doing: () => Promise<unknown>) =>
    edited(shared(), path, replaced(from, words), doing);

  test('if a command changes nothing: usage, plan and bump', async () => {
    const { directory, project, image } = shared();
    await run(2, 'usage', ['--target', `https://svc:${planted.inUrl}@host`, '--dir', 'x', ...json]);
    const plan = await run(0, '+SVC_VERSION=v1.1.0 # …', ['plan', '--target', 'v1.1.0', accept]);
    // Paths, names and references are not secrets and are not masked.
    for (const text of [directory, project, `${image}:v1.1.0`, 'compose.yaml']) expect(plan).toContain(text);
    const files = ['--env-file', '.env', '--env-file', 'more.env'];
    const bumping = ['--to', 'v1.1.0', '--service', 'app', '--dry-run', ...files];
    for (const where of ['image', 'host'] as const) {
      const { log } = await bumpIn(directory, bumping, where);
      expect(log).toContain('+SVC_VERSION=v1.1.0 # …');
      expectNone(log);
    }
    // A pin in the compose file: the comment after it and the lines around it are not logged.
    const pinned = `image: ${image}:v1.0.0 # ${planted.composeComment}`;
    await withText('compose.yaml', /image: .*SVC_VERSION\}/, pinned, async () => {
      const { log } = await bumpIn(directory, bumping, 'image');
      expect(log).toContain(`+    image: ${image}:v1.1.0 # …`);
      expectNone(log);
    });
  });

  test('if an update is refused, whatever compose quotes', async () => {
    await withText('app.env', /FROM_FILE=.*/, '', async () => {
      const log = await run(3, 'refused (drift)', ['--target', 'v1.1.0', ...json]);
      for (const key of ['FROM_SHELL', 'FROM_FILE']) expect(log).toContain(key);
    });
    await withText('.env', /DB_PASSWORD=.*/, '', () => run(3, 'DB_PASSWORD', to('v1.1.0')));
    const rejected: [path: string, from: string | RegExp, words: string][] = [
      ['.env', /$/, `${planted.secretFile}+/ no name\n`],
      ['compose.yaml', /LITERAL: (.*)/, `LITERAL: "\${${planted.literal}"`],
      ['compose.yaml', /environment: \['LISTED.*/, `environment: LISTED=${planted.listed}`],
    ];
    for (const [path, from, words] of rejected) {
      await withText(path, from, words, () => run(3, 'compose-invalid', to('v1.1.0')));
    }
  });

  // This test must run last. The unhealthy container prints all secrets that it has, and those of the previous
  // container.
  test('if a run is killed and the next run finds a broken instance', async () => {
    const update = ['--target', 'v1.2.0', accept];
    const { stdout: old } = await execa('docker', ['inspect', '-f', '{{.Id}}', `${shared().project}-app-1`]);
    const killed = await shared().update(update, {
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(killer)}` },
    });
    expect(killed.exitCode, killed.log).toBe(137);
    expectNone(killed.log);
    expect((await execa('docker', ['inspect', old], { reject: false })).exitCode).not.toBe(0);
    const said = `${shown.MONKEY} at ${shown.POSTGRES_DB}`;
    const broken = await run(5, said, [...update, '--wait-timeout', '3']);
    expect(broken).toContain('resuming the interrupted update');
    // Text that is not secret is logged.
    expect(broken).toContain('host = mail');
    expectNone(await shared().read('.svc-updater/last-run.log'));
  });
});
