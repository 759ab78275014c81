import { describe, expect, it } from 'vitest';
import { svcProduct } from '../../../../src/core/names/product.ts';
import { parseCommandLine, UsageError } from '../../../../src/updater/run/options/command-line.ts';
import {
  bumpOptionsOf,
  logFormatOf,
  rollbackOptionsOf,
  updateOptionsOf,
} from '../../../../src/updater/run/options/update-options.ts';

/** All options of a command line. */
function read(argv: readonly string[], env: Record<string, string> = {}) {
  const line = parseCommandLine(argv, env);
  const { command } = line;
  if (command === 'bump') return { command, ...bumpOptionsOf(line) };
  return { command, ...updateOptionsOf(line), ...rollbackOptionsOf(line), log: logFormatOf(line) };
}

const mistakes = (argv: string[], env: Record<string, string> = {}): readonly string[] => {
  try {
    parseCommandLine(argv, env);
    return [];
  } catch (error) {
    if (error instanceof UsageError) return error.mistakes;
    throw error;
  }
};

describe('the options of a command line', () => {
  it('sets the defaults of update', () => {
    expect(read([], {})).toEqual({
      command: 'update',
      product: svcProduct,
      target: null,
      project: null,
      dir: null,
      container: null,
      acceptEndedJournal: false,
      app: 'app',
      workers: ['worker'],
      servicesNamed: false,
      exclude: [],
      versionVariable: 'SVC_VERSION',
      acceptDrift: false,
      acceptOwnBuild: false,
      acceptRecalled: false,
      removeOldImages: false,
      noRollback: false,
      rehearse: false,
      notify: [],
      limits: { waitTimeoutMs: 300_000, pullTimeoutMs: 3_600_000, pauseMs: 30_000 },
      data: { restorePoint: false, restoreDir: null, maxDowntimeSeconds: null, choices: [] },
      proof: { expect: [], expectFiles: [], release: null, archive: null, trust: null, channelFile: null },
      settings: new Map(),
      stack: { name: null, files: [], stopFirst: false },
      yes: false,
      discardCurrent: false,
      log: 'line',
    });
  });

  it('reads addresses for notifications, and does not print an invalid address', () => {
    const env = { SVC_UPDATER_NOTIFY: 'https://a.example/x,ntfy+https://b.example/c' };
    expect(read([], env)).toMatchObject({ notify: env.SVC_UPDATER_NOTIFY.split(',') });
    expect(read(['rollback', '--yes', '--notify', 'none'], env)).toMatchObject({ notify: ['none'] });
    // Commands that change nothing send no notifications.
    for (const command of ['plan', 'rollback']) expect(read([command], env)).toMatchObject({ notify: [] });
    const wrong = mistakes(['--notify', 'discord://token']);
    expect(wrong).toEqual([expect.stringContaining('--notify must be an http or https address')]);
    expect(wrong.join()).not.toContain('token');
    const nine = Array.from({ length: 9 }, (_, at) => ['--notify', `https://a.example/${at}`]);
    expect(mistakes(nine.flat())).toEqual(['--notify lists more than 8 addresses']);
  });

  it('reads the environment, and the command line overrides it', () => {
    const proven = `sha256:${'a'.repeat(64)}`;
    const env = {
      SVC_UPDATER_TARGET: 'canary',
      SVC_UPDATER_SERVICES: 'web, jobs',
      SVC_UPDATER_EXCLUDE: 'metrics, cron',
      SVC_UPDATER_WAIT_TIMEOUT: '7',
      SVC_UPDATER_PULL_TIMEOUT: '8',
      SVC_UPDATER_LOG: 'json',
      SVC_UPDATER_PROJECT: 'svc',
      SVC_UPDATER_DIR: '/opt/svc',
      SVC_UPDATER_CONTAINER: 'c0ffee00'.repeat(8),
      SVC_UPDATER_VERSION_VAR: 'TAG',
      SVC_UPDATER_ACCEPT_DRIFT: '1',
      SVC_UPDATER_ACCEPT_RECALLED: '1',
      SVC_UPDATER_RESTORE_POINT: '1',
      SVC_UPDATER_RESTORE_DIR: '/backup',
      SVC_UPDATER_MAX_DOWNTIME: '900',
      SVC_UPDATER_REMOVE_OLD_IMAGES: '1',
      SVC_UPDATER_NO_ROLLBACK: '1',
      SVC_UPDATER_EXPECT: `app=${proven}, ghcr.io/acme/svc=${proven}`,
      SVC_UPDATER_EXPECT_FILE: `compose.yaml=${proven}`,
      SVC_UPDATER_RELEASE: '/release',
      SVC_UPDATER_TRUST: '/key.pem',
      SVC_UPDATER_CHANNEL_FILE: '/channel.json',
    };
    expect(read(['plan', '--service', 'app', '--wait-timeout', '9'], env)).toMatchObject({
      command: 'plan',
      target: { kind: 'canary', tag: 'canary' },
      app: 'app',
      workers: [],
      servicesNamed: true,
      exclude: ['metrics', 'cron'],
      limits: { waitTimeoutMs: 9_000, pullTimeoutMs: 8_000 },
      log: 'json',
      project: 'svc',
      dir: '/opt/svc',
      container: 'c0ffee00'.repeat(8),
      versionVariable: 'TAG',
      acceptDrift: true,
      acceptRecalled: true,
      data: { restorePoint: true, restoreDir: '/backup', maxDowntimeSeconds: 900 },
      removeOldImages: true,
      noRollback: true,
      proof: {
        expect: [`app=${proven}`, `ghcr.io/acme/svc=${proven}`],
        expectFiles: [`compose.yaml=${proven}`],
        release: '/release',
        trust: '/key.pem',
        channelFile: '/channel.json',
      },
    });
  });

  it('reads the options of a stack, also from the environment', () => {
    const env = {
      SVC_UPDATER_STACK: 'svc',
      SVC_UPDATER_FILES: 'a.yaml, b.yaml',
      SVC_UPDATER_STOP_FIRST: '1',
    };
    const expected = { stack: { name: 'svc', files: ['a.yaml', 'b.yaml'], stopFirst: true }, project: null };
    expect(read(['plan'], env)).toMatchObject(expected);
    // fetch takes no lock, so it must not evaluate data, even if a server enables restore points.
    expect(read(['fetch'], { SVC_UPDATER_RESTORE_POINT: '1' })).toMatchObject({
      data: { restorePoint: false },
    });
    const argv = ['--stack', 'svc', '--file', 'a.yaml', '--file', 'b.yaml', '--stop-first'];
    expect(read(argv, { SVC_UPDATER_FILES: 'c.yaml' })).toMatchObject(expected);
  });

  it('rejects a stack together with a project', () => {
    expect(mistakes(['--stack', 'svc'], { SVC_UPDATER_PROJECT: 'svc' })).toEqual([
      '--stack and SVC_UPDATER_PROJECT cannot be used together',
    ]);
    expect(mistakes(['--stack', 'a b'])).toEqual(['--stack must be the name of a stack, not "a b"']);
  });

  it('uses the variable for files only for stacks; bump reads files only from the command line', () => {
    const env = { SVC_UPDATER_FILES: 'stack.yaml' };
    const argv = ['bump', '--to', 'v1.5.0', '--service', 'app'];
    expect(read(argv, env)).toMatchObject({ files: [] });
    expect(read([...argv, '--file', 'a.yaml'], env)).toMatchObject({ files: ['a.yaml'] });
    expect(mistakes(['rollback', '--stop-first'])).toEqual(['unknown option --stop-first']);
  });

  it.each([
    ['1', true],
    ['0', false],
    ['', false],
  ])('reads SVC_UPDATER_ACCEPT_DRIFT=%s as %s', (value, acceptDrift) => {
    expect(read([], { SVC_UPDATER_ACCEPT_DRIFT: value })).toMatchObject({ acceptDrift });
  });

  it.each([
    [
      ['rollback'],
      {
        command: 'rollback',
        yes: false,
        discardCurrent: false,
        app: 'app',
        limits: { waitTimeoutMs: 300_000 },
      },
    ],
    [
      ['update', '--target=v1.5.0'],
      { command: 'update', target: { kind: 'release', version: '1.5.0', tag: 'v1.5.0' } },
    ],
    [['rollback', '--yes', '--discard-current'], { yes: true, discardCurrent: true }],
    [['restore-point', 'rm', '--project', 'x'], { command: 'restore-point', project: 'x' }],
  ])('reads %j', (argv, expected) => {
    expect(read(argv, {})).toMatchObject(expected);
  });

  it('reads bump', () => {
    const argv = 'bump --to v2.0.0 --service a --service b --file x.yaml --env-file e'.split(' ');
    expect(read(argv, {})).toMatchObject({
      command: 'bump',
      dir: null,
      files: ['x.yaml'],
      envFiles: ['e'],
      services: ['a', 'b'],
      digest: null,
      dryRun: false,
    });
  });

  it.each([
    [['--help'], 'help'],
    [['--version'], 'version'],
  ])('accepts %j without checking anything else', (argv, command) => {
    const line = parseCommandLine(argv, { SVC_UPDATER_TARGET: 'nonsense' });
    expect(line).toMatchObject({ command, product: svcProduct });
  });

  it.each(['1.5.0', '32.0.1-apache', '2025.8', 'stable', 'RELEASE.2025-10-15T17-29-55Z'])(
    'accepts %s as a target',
    (tag) => {
      expect(read(['--target', tag], {})).toMatchObject({ target: { tag } });
      expect(read(['bump', '--service', 'a', '--to', tag], {})).toMatchObject({ to: { tag } });
    },
  );

  it('reports all errors in options and variables together', () => {
    expect(
      mistakes(
        [
          'updat',
          '--target',
          'abc def',
          ...'--wait-timeout 0 --nope extra --accept-drift=yes --dir here'.split(' '),
        ],
        { SVC_UPDATER_PULL_TIMEOUT: 'soon', SVC_UPDATER_LOG: 'xml' },
      ),
    ).toEqual([
      'unknown command "updat": use update, plan, fetch, rehearse, rollback, restore-point, bump, enable, explain, report or serve',
      'unknown option --nope',
      '--accept-drift takes no value',
      `--target must be a release in the format of the product's tags (v1.2.3, 2025.8.4, 32.0.1-apache), canary or stable, not "abc def"`,
      '--dir must be an absolute path, not "here"',
      '--wait-timeout must be a whole number of seconds from 1 to 999999, not "0"',
      'SVC_UPDATER_PULL_TIMEOUT must be a whole number of seconds from 1 to 999999, not "soon"',
      'SVC_UPDATER_LOG must be line or json, not "xml"',
    ]);
  });

  // Every JavaScript object has members with these names.
  it.each(['constructor', 'toString', '__proto__'])('rejects the unknown option --%s', (name) => {
    expect(mistakes([`--${name}`])).toEqual([`unknown option --${name}`]);
    expect(mistakes(['explain', `--${name}=1`])).toEqual([`unknown option --${name}`]);
  });

  it.each([
    [['explain'], null],
    [['explain', 'downgrade'], 'downgrade'],
  ])('reads the command %j', (argv, code) => {
    expect(parseCommandLine(argv, { SVC_UPDATER_TARGET: 'no target' })).toMatchObject({
      command: 'explain',
      product: svcProduct,
      code,
    });
  });

  it.each([
    [['explain', 'downgrad'], ['unknown code "downgrad": similar codes are downgrade']],
    [
      ['explain', 'pull'],
      [
        'unknown code "pull": similar codes are pull-denied, pull-unknown, pull-platform, pull-space, pull-unreachable',
      ],
    ],
    [['explain', 'weather'], ['unknown code "weather": run explain without a code to list all codes']],
    [
      ['explain', 'drift', 'now', '--yes'],
      ['unknown option --yes', 'unexpected argument "now"'],
    ],
    [['--target'], ['--target requires a value']],
    [
      ['--tagret', 'v1.0.0', 'v1.0.1'],
      ['unknown option --tagret (did you mean --target?)', 'unexpected argument "v1.0.1"'],
    ],
    [['--target', 'v1.0.0', '--target', 'v1.0.1'], ['--target is given twice']],
    [['--release', '/release'], ['--release requires --trust']],
    [['--channel-file', 'channel.json'], ['--channel-file must be an absolute path, not "channel.json"']],
    [['--trust', '/key.pem'], ['--trust requires --release or --archive or --channel-file']],
    [
      ['--archive', '/svc.tar', '--expect', `app=sha256:${'a'.repeat(64)}`],
      ['--archive requires --target or --trust: the version of an unsigned archive is not trusted'],
    ],
    [
      ['--archive', '/svc.tar', '--release', '/release', '--trust', '/key.pem'],
      ['--archive cannot be used with --release, because the archive contains a release.json'],
    ],
    [['rollback', '--target', 'v1.0.0'], ['unknown option --target']],
    [['restore-point'], ['restore-point must be followed by rm, which removes the restore point']],
    [
      ['restore-point', 'ls', '--yes'],
      [
        'restore-point must be followed by rm, which removes the restore point',
        'unexpected argument "ls"',
        'unknown option --yes',
      ],
    ],
    [
      ['bump'],
      [
        "bump requires --to RELEASE: a release in the format of the product's tags (v1.2.3, 2025.8.4, 32.0.1-apache), canary or stable",
        'bump requires at least one --service option, or the services setting in .svc-updater.yaml',
      ],
    ],
    [
      ['bump', '--to', 'v1.0.0', '--service', 'a', '--digest', 'abc'],
      ['--digest must be sha256:<64 hex digits>, not "abc"'],
    ],
  ])('rejects %j', (argv, expected) => {
    expect(mistakes(argv).toSorted()).toEqual(expected.toSorted());
  });
});
