import { execFileSync } from 'node:child_process';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import { readBumpOptions } from '../../../../src/updater/commands/bump.ts';
import { parseCommandLine } from '../../../../src/updater/run/options/command-line.ts';
import { addSettingsFromFile } from '../../../../src/updater/run/options/settings-file.ts';
import { updateOptionsOf } from '../../../../src/updater/run/options/update-options.ts';
import { rememberingLog, updateOptions } from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let directory = '';
beforeEach(async () => {
  directory = await temporaryDirectory();
});

const path = () => join(directory, '.svc-updater.yaml');

/** The options of an update in the directory; or its error, as details and `outcome code: message`. */
async function read(args: readonly string[] = [], env: Record<string, string> = {}) {
  const { log, lines } = rememberingLog();
  try {
    const line = await addSettingsFromFile(parseCommandLine(args, env), directory, log);
    return { options: updateOptionsOf(line), lines };
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    return { options: null, lines: [...error.detail, `${error.outcome} ${error.code}: ${error.message}`] };
  }
}

describe('a settings file', () => {
  const text = [
    '# what runs here',
    'services: [server, "worker"]',
    'exclude:',
    '  - no',
    'version-var: TAG',
    'wait-timeout: 600',
    "pull-timeout: '60'",
    '',
  ].join('\n');

  it('sets values that no option or variable sets, and is logged', async () => {
    await writeFile(path(), text);
    const { options, lines } = await read();
    expect(options).toMatchObject({
      app: 'server',
      workers: ['worker'],
      servicesNamed: true,
      exclude: ['no'],
      versionVariable: 'TAG',
      limits: { waitTimeoutMs: 600_000, pullTimeoutMs: 60_000 },
    });
    expect(lines).toEqual([
      'info: .svc-updater.yaml: services server, worker; exclude no; version-var TAG; wait-timeout 600; pull-timeout 60',
    ]);
  });

  it('sets addresses for notifications, which are masked in the log', async () => {
    await writeFile(path(), 'notify: [https://hooks.example/token]\n');
    const { options, lines } = await read();
    expect(options?.notify).toEqual(['https://hooks.example/token']);
    expect(lines).toEqual(['info: .svc-updater.yaml: notify ***']);
    expect((await read(['--notify', 'none'])).options?.notify).toEqual(['none']);
    await writeFile(path(), 'notify: [hooks.example/token]\n');
    expect((await read()).lines.join()).not.toContain('token');
  });

  it('sets a switch to on or off, and a variable overrides it', async () => {
    await writeFile(path(), 'restore-point: true\n');
    const { options, lines } = await read();
    expect(options).toMatchObject({ data: { restorePoint: true }, noRollback: false });
    expect(lines).toEqual(['info: .svc-updater.yaml: restore-point true']);
    expect((await read([], { SVC_UPDATER_RESTORE_POINT: '0' })).options).toMatchObject({
      data: { restorePoint: false },
    });
    await writeFile(path(), 'restore-point: false\n');
    expect((await read()).options).toMatchObject({ data: { restorePoint: false } });
  });

  it('declares the data of services, mounts and hosts as saved or excluded, with line numbers', async () => {
    await writeFile(
      path(),
      'data:\n  db: save\n  no: none # a cache\n  app:/library: none\n  db.example: none\n',
    );
    const { options, lines } = await read();
    const at = (line: number, key: string) => `.svc-updater.yaml line ${line}: data of ${key}`;
    expect(options?.data.choices).toEqual([
      { key: 'db', word: 'save', where: at(2, 'db') },
      { key: 'no', word: 'none', where: at(3, 'no') },
      { key: 'app:/library', word: 'none', where: at(4, 'app:/library') },
      { key: 'db.example', word: 'none', where: at(5, 'db.example') },
    ]);
    expect(lines).toEqual([
      'info: .svc-updater.yaml: data db: save, no: none, app:/library: none, db.example: none',
    ]);
    await writeFile(path(), 'data: {app:/library: none, "2001:db8::1": none}');
    expect((await read()).options?.data.choices.map(({ key }) => key)).toEqual([
      'app:/library',
      '2001:db8::1',
    ]);
  });

  it('may contain YAML aliases', async () => {
    await writeFile(path(), 'services: [&app server, worker]\nexclude: &left [cron]\n');
    expect((await read()).options).toMatchObject({ app: 'server', workers: ['worker'], exclude: ['cron'] });
  });

  it('is overridden by options and variables, key by key', async () => {
    await writeFile(path(), text);
    const { options } = await read(['--service', 'web', '--service', 'no'], {
      SVC_UPDATER_WAIT_TIMEOUT: '7',
    });
    // A service on the command line is not excluded, even if the file excludes it.
    expect(options).toMatchObject({ app: 'web', workers: ['no'], exclude: [] });
    expect(options).toMatchObject({
      versionVariable: 'TAG',
      limits: { waitTimeoutMs: 7_000, pullTimeoutMs: 60_000 },
    });
  });

  it.each([[null], [''], ['# nothing\n'], ['{}\n']])('changes nothing: %j', async (content) => {
    if (content !== null) await writeFile(path(), content);
    expect(await read()).toEqual({ options: updateOptions(), lines: [] });
  });

  it.each([
    ['\ntarget: v1.0.0\nwait: 3\n', ['line 2: unknown key "target"', 'line 3: unknown key "wait"']],
    ['services: [app, [b]]\n', ['line 1: services must be a list of service names']],
    ['wait-timeout: soon\n', ['.svc-updater.yaml line 1: wait-timeout must be a whole number of sec']],
    ['services: [app, ../x]\n', ['line 1: services must be the name of a service, not "../x"']],
    [
      'data:\n  db: postgres\n  events:\n  x: [none]\n',
      [
        'line 2: data of db must be "save" or "none", not "postgres"',
        'line 3: data of events must be "save" or "none", not ""',
        'line 4: data of x must be "save" or "none", not ""',
      ],
    ],
    ['services: [a\n', ['.svc-updater.yaml line 2: ']],
    ['services: [a]\n---\nservices: [b]\n', ['contains several YAML documents, but only one is allowed']],
    ['a'.repeat(70_000), ['is larger than 64 KiB']],
    [Buffer.from([0x73, 0xff]), ['is not valid UTF-8 text']],
  ])('is rejected with the line number: %j', async (content, says) => {
    await writeFile(path(), content);
    const { options, lines } = await read();
    expect(options).toBeNull();
    expect(lines).toHaveLength(says.length);
    for (const [at, words] of says.entries()) expect(lines[at]).toContain(words);
    expect(lines.at(-1)).toMatch(/^refused settings-invalid: /);
  });

  it('must not be a symbolic link or a pipe', async () => {
    const outside = join(directory, 'elsewhere.yaml');
    await writeFile(outside, 'services: [a]\n');
    await symlink(outside, path());
    expect((await read()).lines).toEqual([
      'refused settings-invalid: .svc-updater.yaml is a symbolic link, but must be a regular file',
    ]);
    await rm(path());
    execFileSync('mkfifo', [path()]);
    expect((await read()).lines).toEqual([
      'refused settings-invalid: .svc-updater.yaml is not a regular file',
    ]);
  });
});

describe('bump', () => {
  const bump = async (...args: string[]) => {
    const argv = ['bump', '--to', 'v1.1.0', '--dir', directory, ...args];
    return readBumpOptions(parseCommandLine(argv, {}), rememberingLog().log);
  };

  it('uses the services of the settings file if no service is specified', async () => {
    await writeFile(path(), 'services: [server, worker]\nwait-timeout: 600\n');
    expect(await bump()).toMatchObject({ services: ['server', 'worker'] });
    expect(await bump('--service', 'web')).toMatchObject({ services: ['web'] });
  });

  it.each([[null], ['wait-timeout: 9\n']])(
    'requires services if the settings file contains %j',
    async (content) => {
      if (content !== null) await writeFile(path(), content);
      const said = content === null ? { code: 'usage' } : { code: 'settings-invalid' };
      await expect(bump()).rejects.toMatchObject({
        ...said,
        message: 'bump requires at least one --service option, or the services setting in .svc-updater.yaml',
      });
    },
  );
});
