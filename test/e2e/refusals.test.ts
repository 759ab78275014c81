import { chmod, chown, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { judgeUntouched } from '../judge/judge.ts';
import type { Says } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { judgeUpDoesNothing } from '../judge/operators-up.ts';
import { registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import type { UpdaterOptions } from '../rig/updater-run.ts';
import { expectAttempt, expectWords, keepFiles, shareInstance } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Rules of docs/contract.md 4.1 that forbid an update: exit code 3, and neither files nor containers change. Rules that
// need no engine are tested in test/updater/compose/inspect and test/updater/compose/plan.

const toNext = ['--target', 'v1.1.0'];
const untouched = (version: string) => {
  const state = `nothing was changed; ${version.replaceAll('.', '\\.')} is still running`;
  const step = 'v\\d+\\.\\d+\\.\\d+ must be installed first';
  return new RegExp(
    `^refused \\((?:(?!upgrade-step)[a-z-]+\\): ${state}|upgrade-step\\): ${state}; ${step})\\. Next: `,
  );
};
/** The result of a run that is refused before it inspects the instance. */
const unseen = /^refused \([a-z-]+\): nothing was changed\. Next: /;

interface Refusal {
  name: string;
  /** Default `--target v1.1.0`. */
  args?: (instance: Instance) => string[];
  options?: (instance: Instance) => UpdaterOptions | Promise<UpdaterOptions>;
  /** Changes the directory before the update. */
  prepare?: (instance: Instance) => unknown;
  says: (instance: Instance) => Says;
  /** The end of the last line, with the next step for the user. */
  next: (instance: Instance) => string | RegExp;
  /** By default, v1.0.0 is still running. */
  state?: string | RegExp;
  never?: Says;
}

function testRefusals(instance: () => Instance, refusals: readonly Refusal[]): void {
  test.for(refusals.map((refusal) => [refusal.name, refusal] as const))('%s', async ([, refusal]) => {
    const { args, options, prepare, says, next, state, never = [] } = refusal;
    const shared = instance();
    if (prepare) {
      await keepFiles(shared);
      await prepare(shared);
    }
    await expectAttempt(
      shared,
      args?.(shared) ?? toNext,
      { exitCode: 3, says: says(shared), ends: [state ?? untouched('v1.0.0'), next(shared)], never },
      await options?.(shared),
    );
  });
}

/** A directory on the host, next to the compose directory, that is not mounted into the updater. */
async function outside(instance: Instance, files: Record<string, string> = {}): Promise<string> {
  const directory = `${instance.directory}-outside`;
  await mkdir(directory, { recursive: true });
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return directory;
}

const edit =
  (path: string, from: string | RegExp, to: string) =>
  async (instance: Instance): Promise<void> => {
    const text = await instance.read(path);
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`${path} has no ${from}`);
    await instance.write(path, edited);
  };

/** One instance for all rules that need no other instance. */
const plain = shareInstance();

describe('the updater rejects its docker run command:', () => {
  testRefusals(plain, [
    {
      name: 'no socket',
      options: () => ({ socket: null }),
      says: () => ['no engine responds at unix:///var/run/docker.sock'],
      state: unseen,
      next: () => 'Add -v /var/run/docker.sock:/var/run/docker.sock to the docker run command',
    },
    {
      name: 'no right to use the socket',
      options: () => ({ docker: ['--user', '1000:1000'] }),
      says: () => ['permission denied for the engine socket, unix:///var/run/docker.sock'],
      state: unseen,
      next: () => 'Run the updater without --user, so that it runs as root, the owner of the socket.',
    },
    {
      name: 'the compose directory is not mounted',
      options: () => ({ mount: null }),
      says: ({ project, directory }) => [
        'no mounted directory contains a compose file',
        `${project} (${directory})`,
      ],
      state: unseen,
      next: () => 'Mount the compose directory at the same path as on the host: -v /opt/svc:/opt/svc.',
    },
    {
      name: 'mounted read-only',
      options: () => ({ readOnly: true }),
      says: ({ directory }) => [`the compose directory ${directory} is mounted read-only`],
      state: unseen,
      next: () => 'Mount the compose directory without :ro',
    },
    {
      name: 'a target that is older than the running version',
      args: () => ['--target', 'v0.9.9'],
      says: () => ['v0.9.9 is older than the running version v1.0.0'],
      next: () => 'Choose a release that is newer than the running version. Downgrades are not supported.',
    },
  ]);
});

describe('the updater rejects the files of the compose directory:', () => {
  const env = (i: Instance) => join(i.directory, '.env');
  testRefusals(plain, [
    {
      name: 'a file to be written is itself a bind mount',
      options: (i) => ({ volumes: [`${env(i)}:${env(i)}`] }),
      says: (i) => [`${env(i)} is mounted as a single file and cannot be replaced`],
      next: ({ directory }) => `Mount its directory instead: -v ${directory}:${directory}.`,
    },
    {
      name: 'a file to be written is a mount point on the host',
      prepare: async (i) => {
        const at = await outside(i, { '.env': await i.read('.env') });
        await execa('mount', ['--bind', join(at, '.env'), env(i)]);
        onTestFinished(async () => void (await execa('umount', [env(i)])));
      },
      says: (i) => [`${env(i)} is a mount point on the host and cannot be replaced`],
      next: (i) => `Run umount ${env(i)} on the host and replace the mount with a regular file`,
    },
    {
      name: 'an env_file outside the mounts',
      prepare: async (i) => {
        await outside(i, { 'app.env': 'A=1\n' });
        await edit(
          'compose.prod.yaml',
          'command: app',
          `command: app\n    env_file: ${i.directory}-outside/app.env`,
        )(i);
      },
      says: ({ directory }) => [
        `these files are outside the mounted directories: ${directory}-outside/app.env (env_file of app)`,
      ],
      state: unseen,
      next: ({ directory }) => `Add -v ${directory}-outside:${directory}-outside to the docker run command.`,
    },
    {
      name: 'no .env although a variable is required',
      prepare: (i) => rm(env(i)),
      says: () => [/compose rejects the project: .*required variable \w+ is missing/],
      state: unseen,
      next: () => /Make sure that \.env exists and sets \w+, then run the update again\./,
    },
    {
      // test/updater/run/state/state-directory.test.ts tests the other links.
      name: 'a state directory that is a link to another directory',
      prepare: async (i) => {
        await rm(join(i.directory, '.svc-updater'), { recursive: true, force: true });
        await symlink(await outside(i), join(i.directory, '.svc-updater'));
      },
      says: ({ directory }) => [
        `${directory}/.svc-updater is a symbolic link, which the updater does not follow`,
      ],
      state: /^refused \(unexpected-file\): nothing was changed/,
      next: ({ directory }) => `remove it (rm ${directory}/.svc-updater)`,
    },
    {
      name: 'an .env that may not be read',
      prepare: async (i) => {
        await chmod(env(i), 0o600);
        await chown(env(i), 4711, 4711);
      },
      options: () => ({ docker: ['--cap-drop', 'ALL'] }),
      says: (i) => [`${env(i)} cannot be read (EACCES)`],
      state: unseen,
      next: () => 'If capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.',
    },
  ]);
});

describe('drift between files and containers', () => {
  // Without -f, `docker compose up -d` would find no file in this directory.
  const apply = /Apply your own edits with docker compose -p \S+ -f compose\.prod\.yaml up -d first\./;
  const prod = 'compose.prod.yaml';
  testRefusals(plain, [
    {
      // test/updater/compose/drift/drift.test.ts tests each kind of drift separately; this test uses the real output of
      // compose and the engine.
      name: 'reports mounts, a port, a network and variables together',
      prepare: async (i) => {
        await edit(prod, "volumes: ['./data:/data']", "volumes: ['./other:/data']")(i);
        await edit(prod, "volumes: ['./data:/data']", 'volumes: []')(i);
        await edit(prod, ":8080'", ":8081'")(i);
        await edit(prod, /networks: \[internal\]\n {4}environment/, 'networks: [side]\n    environment')(i);
        await edit(prod, /^networks:$/m, 'networks:\n  side:')(i);
        await edit(prod, / {6}SVC_HOST: .*\n/, '')(i);
        await edit(prod, /DB_PASSWORD: .*/, "DB_PASSWORD: ''")(i);
      },
      says: (i) => [
        'recreating the containers would remove settings that the files do not contain',
        `app: the source of the mount at /data would change from ${i.directory}/data to ${i.directory}/other`,
        `worker: the mount of ${i.directory}/data at /data would be removed`,
        `app: published port 127.0.0.1:${i.port}:8080/tcp would be removed`,
        `app: network ${i.project}_internal would be removed`,
        'app: environment variable SVC_HOST would be removed',
        'app: environment variable DB_PASSWORD would be set to an empty value',
      ],
      next: () => apply,
      never: [/svc\.example\.org/, /correct horse/],
    },
  ]);
});

describe('a floating tag', () => {
  test('is rejected if it points to an older release, or to a release with a required intermediate release', async () => {
    const instance = await createInstance({
      kind: 'default-latest',
      tag: 'latest',
      release: { version: '1.1.0' },
    });
    await instance.publish('latest', { version: '1.0.9', versionLabel: 'v1.0.9' });
    await expectAttempt(instance, [], {
      exitCode: 3,
      says: [
        `${instance.image}:latest points to v1.0.9, which is older than the running version v1.1.0`,
        `${instance.image}:latest points to the previous image again`,
      ],
      ends: [untouched('v1.1.0'), 'Downgrades are not supported.'],
    });
    await instance.publish('latest', { version: '2.0.0', labels: { 'svc.release-requires': 'v1.5.0' } });
    await expectAttempt(instance, [], {
      exitCode: 3,
      says: [
        `v1.5.0 must be installed before ${instance.image}:latest, but the running version is v1.1.0`,
        `${instance.image}:latest points to the previous image again`,
      ],
      ends: [
        untouched('v1.1.0'),
        /Manually set the tag to v1\.5\.0 \(.*\), then run the update with --target v1\.5\.0/,
      ],
    });
    expect(await judgeUpDoesNothing(instance)).toEqual([]);
  });
});

test('plan reports a missing release; an update reports the container and the start time of another update', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createInstance({ ...alone, registry: registry.host });
  const before = await look(instance);
  expectWords(await instance.update(['plan', '--target', 'v9.9.9']), {
    exitCode: 4,
    says: [/the registry does not have \S+:v9\.9\.9/],
    ends: [/^failed \(pull-unknown\): nothing was changed/, 'Check that the release is published'],
  });
  registry.fail(registryFaults.stall);
  const pulling = () => expect.poll(() => registry.requests.length).toBeGreaterThan(0);

  registry.requests.length = 0;
  const first = instance.startUpdate(toNext);
  await pulling();
  expectWords(await instance.update(toNext), {
    exitCode: 3,
    says: [
      new RegExp(
        `another update has been running in container ${first.name} since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z`,
      ),
    ],
    ends: [unseen, `Wait until the other update finishes. To follow it, run docker logs -f ${first.name}.`],
  });
  const plan = await instance.update(['plan', ...toNext]);
  expectWords(plan, {
    exitCode: 0,
    says: [`an update may be in progress: ${first.name} has held the lock since`],
    ends: ['planned: nothing was changed'],
    never: ['was interrupted'],
  });
  await first.stop();
  expectWords(await first.done, { exitCode: 143, says: [], ends: ['cancelled: nothing was changed'] });
  expect(judgeUntouched(before, await look(instance))).toEqual([]);
});
