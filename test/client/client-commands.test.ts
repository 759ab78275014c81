import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { clientCommands } from '../../src/client/client-commands.ts';
import { formatCommandHelp } from '../../src/client/output/help.ts';
import { chooseUpdateTarget } from '../../src/client/start/choose-update-target.ts';
import type { Script, ScriptedJob } from '../../src/server/testing/index.ts';
import { defaultScriptedStatus } from '../../src/server/testing/script.ts';
import { createRunWithDefaults, parseStatus } from '../../src/wire/api-client/parse-responses.ts';
import type { Status } from '../../src/wire/status.ts';
import { play, svc } from './rig.ts';

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000 - 5000).toISOString();
const jobs: ScriptedJob[] = [
  { kind: 'deployment', state: 'running', title: 'web to production', since: minutesAgo(2), stuck: false },
  { kind: 'backup', state: 'running', title: 'nightly', since: minutesAgo(41), stuck: true },
];
const buildServers = [
  { name: 'build-1', version: 'v1.4.2', outdated: false, command: 'svc update' },
  { name: 'build-2', version: 'v1.4.0', outdated: true, command: 'apt upgrade svc-worker' },
];
const newest = {
  next: null,
  latest: { ...defaultScriptedStatus.latest, version: 'v1.4.2', url: null, notes: null, publishedAt: null },
  upToDate: { code: 'newest', message: 'v1.4.2 is the newest release on the stable channel' },
} as const;
const begin = '2026-11-20T10:00:00.000Z';
const recalled = { version: 'v1.4.2', why: 'It deletes backups.', url: 'https://x.test/recall' };
const saved = createRunWithDefaults({
  id: 'saved',
  state: 'updated',
  outcome: 'updated',
  restorePoint: { at: begin, version: 'v1.4.1', bytes: null, downtimeSeconds: null },
});
const refused = createRunWithDefaults({ id: 'refused', state: 'refused', outcome: 'refused' });
const major = { next: { version: 'v2.0.0', major: true } };

describe.concurrent('svc instance status', () => {
  it.each<[string, Script, ...RegExp[]]>([
    [
      'the available update',
      { status: { buildServers } },
      /^svc v1\.4\.2 \(stable\)\nUpdate available: v1\.5\.0, published \d+ \w+ ago, https:\/\/example\.org\/releases\/v1\.5\.0\n/,
      /^To update now: svc instance update\nBuild servers: build-1 v1\.4\.2, build-2 v1\.4\.0 \(outdated\)\n$/m,
    ],
    [
      'jobs',
      { jobs },
      /^Cannot update now: 2 jobs are running\n {2}deployment {2}web to production {2}2 min\n {2}backup {6}nightly {12}41 min, stuck\n/m,
      /^The backup is stuck\. Cancel it, or use --force to stop both jobs\. \(--when-idle does not wait for stuck jobs\.\)$/m,
    ],
    [
      'the latest version',
      { status: newest },
      /^svc v1\.4\.2 \(stable\)\nv1\.4\.2 is the newest release on the stable channel\. Checked .* ago\.\n$/,
    ],
    [
      'an unsupported environment',
      { status: { reason: { code: 'no-engine', message: 'the engine does not answer' } } },
      /^Update available: v1\.5\.0, .*\nCannot update now: the engine does not answer\.\n {2}On the server, run this in the directory that contains the compose file: docker run .* --target v1\.5\.0\n$/m,
    ],
    [
      'a recall, and the newer release',
      { status: { recalled } },
      /^svc v1\.4\.2 \(stable\)\nv1\.4\.2 was recalled: It deletes backups\. https:\/\/x\.test\/recall\nUpdate available: v1\.5\.0/,
    ],
    [
      'a recall, and an older restore point',
      { status: { ...newest, recalled }, history: [refused, saved] },
      /^v1\.4\.2 was recalled: .*\nv1\.4\.2 is the newest/m,
      /^Restore point: v1\.4\.1, with the data saved at .*\. To roll back: svc instance rollback$/m,
    ],
    [
      'a recall without a way out',
      { status: { ...newest, recalled } },
      /^v1\.4\.2 was recalled: .*\nv1\.4\.2 is the newest.*\nNo newer release is available, and this version cannot be rolled back because there is no restore point\. Install the next release as soon as it is published\.$/m,
    ],
    [
      'a security update',
      { status: { urgent: { below: 'v1.4.9', why: 'Sessions can be stolen.' } } },
      /^Security update: Sessions can be stolen\. All versions before v1\.4\.9 are affected\.$/m,
    ],
    [
      'stale release information',
      {
        status: {
          feedError: { message: 'channel.json expired at noon', nextCheckAt: begin, staleSince: begin },
        },
      },
      /^Release information has been out of date since 2026-11-20 10:00: channel\.json expired at noon\.$/m,
    ],
    [
      'how to install a release during its rollout',
      { status: { ...newest, upToDate: { code: 'rolling-out', message: '10 % so far' } } },
      /^10 % so far\. Checked .* ago\.\nTo update now: svc instance update\n$/m,
    ],
    ['only the version to a user', { authorize: () => 'user' }, /^svc v1\.4\.2\n$/],
  ])('shows %s', async (_, script, ...forms) => {
    const { url } = await play(script);
    const { out, err, exitCode } = await svc(url, 'instance status');
    expect(exitCode, err).toBe(0);
    for (const form of forms) expect(out).toMatch(form);
  });

  it("prints the server's response as JSON", async () => {
    const { url } = await play({ jobs });
    const { out } = await svc(url, 'instance status --json');
    expect(JSON.parse(out)).toMatchObject({
      version: 'v1.4.2',
      reason: { code: 'deployment-running' },
      run: null,
    });
    expect(out.trimEnd()).not.toContain('\n');
  });
});

describe.concurrent('svc instance channel', () => {
  it('sets the channel and prints the available version', async () => {
    const { url, asked } = await play();
    const { out, exitCode } = await svc(url, 'instance channel canary');
    expect([exitCode, asked]).toEqual([0, ['PUT /channel']]);
    expect(out).toMatch(/^Release channel: canary\. Running version: v1\.4\.2\nUpdate available: v1\.5\.0/);
  });
});

describe.concurrent('svc instance skip', () => {
  it('skips a release, and offers it again after --undo', async () => {
    const { url, asked } = await play();
    const { out, exitCode } = await svc(url, 'instance skip v1.5.0');
    expect([exitCode, asked]).toEqual([0, ['PUT /skip']]);
    expect(out).toMatch(
      /^Update available: v1\.5\.0.*\nYou skipped v1\.5\.0 0 s ago\.\nTo offer the release again: svc instance skip --undo\n/,
    );
    expect((await svc(url, 'instance status')).out).toContain(
      '\nTo offer the release again: svc instance skip --undo\n',
    );
    expect((await svc(url, 'instance skip --undo')).out).not.toContain('skip');
  });

  it('accepts only the latest release or --undo', async () => {
    const { url } = await play();
    const { err, exitCode } = await svc(url, 'instance skip v1.4.9');
    expect([exitCode, err]).toEqual([2, expect.stringContaining('v1.4.9 is not the newest release')]);
    expect((await svc(url, 'instance skip')).err).toContain('Specify either the offered version or --undo.');
  });
});

describe.concurrent('svc instance history', () => {
  it('lists the runs, or prints that there have been no updates', async () => {
    const { url } = await play({ speed: 30 });
    expect((await svc(url, 'instance history')).out).toBe('There have been no updates yet.\n');
    expect((await svc(url, 'instance follow')).out).toBe('There have been no updates yet.\n');
    await svc(url, 'instance update');
    const { out } = await svc(url, 'instance history');
    expect(out).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d {2}v1\.4\.2 → v1\.5\.0 {2}updated {2}\d+ s, 2 s downtime, by admin\n$/,
    );
    expect(JSON.parse((await svc(url, 'instance history --json')).out)).toMatchObject([{ id: 'run1' }]);
  });
});

describe.concurrent('svc instance update', () => {
  it('requests the version shown in the status', async () => {
    const { url, asked } = await play({ speed: 30, status: major });
    const { exitCode } = await svc(url, 'instance update --yes --no-follow');
    expect(exitCode).toBe(0);
    expect(asked).toEqual(['GET', 'POST  {"target":"v2.0.0"}']);
  });

  it('refreshes the status before it prints that no update is available', async () => {
    const { url, asked } = await play({ status: newest });
    const { out, exitCode } = await svc(url, 'instance update');
    expect([exitCode, asked]).toEqual([0, ['GET', 'GET']]);
    expect(out).toMatch(/^v1\.4\.2 is the newest release on the stable channel\. Checked 0 s ago\.\n$/);
    expect((await svc(url, 'instance update --target v1.4.2')).exitCode).toBe(0);
  });

  it('prints why release information is out of date if no update is available', async () => {
    const feedError = { message: 'channel.json expired at noon', nextCheckAt: begin, staleSince: begin };
    const { url } = await play({ status: { ...newest, feedError }, afterRefresh: { feedError } });
    const { out, exitCode } = await svc(url, 'instance update');
    expect(exitCode).toBe(0);
    expect(out).toMatch(
      /^Release information has been out of date since 2026-11-20 10:00: channel\.json expired at noon\.\nv1\.4\.2 is the newest/,
    );
  });

  it('updates to a version found by the refresh', async () => {
    const { url } = await play({ speed: 30, status: newest, afterRefresh: { ...defaultScriptedStatus } });
    expect((await svc(url, 'instance update --no-follow')).out).toMatch(
      /^The update to v1\.5\.0 has started\./,
    );
  });

  it('does not wait for a stuck job', async () => {
    const { url, asked } = await play({ jobs });
    expect((await svc(url, 'instance update --when-idle')).exitCode).toBe(3);
    expect(asked).toEqual(['GET']);
  });

  it('stops jobs only after confirmation', async () => {
    const { url, asked } = await play({ speed: 30, jobs });
    const asking = await svc(url, 'instance update --force');
    expect([asking.exitCode, asking.err]).toEqual([2, expect.stringMatching(/confirm with --yes\.$/m)]);
    expect(asked.filter((one) => one.startsWith('POST'))).toEqual([]);
    expect((await svc(url, 'instance update --force --yes --no-follow')).exitCode).toBe(0);
    expect(asked.at(-1)).toBe('POST  {"target":"v1.5.0","force":true}');
  });

  it('updates to a major version only after confirmation', async () => {
    const { url, asked } = await play({ status: { ...major, preparation: 'a dump is made first' } });
    const { err, exitCode } = await svc(url, 'instance update');
    expect([exitCode, asked]).toEqual([2, ['GET']]);
    expect(err).toMatch(
      /^svc: v2\.0\.0 is a major version\. Migrations cannot be undone\. A dump is made first\. Continue\? Without a terminal, confirm with --yes\.\n/,
    );
    const named = await play();
    expect((await svc(named.url, 'instance update --target v2.1.0')).err).toMatch(
      /v2\.1\.0 is a major version\. .* Back up your data first\./,
    );
  });

  it.each([
    ['--when-idle --force', /cannot be combined/],
    [
      '--jsn now --json=1',
      /Unknown option --jsn\.\n--json takes no value\.\nUnexpected argument "now"\.\nHelp: svc instance update --help/,
    ],
  ])('rejects %s', async (words, form) => {
    const { err, exitCode } = await svc('http://127.0.0.1:1', `instance update ${words}`);
    expect([exitCode, err]).toEqual([2, expect.stringMatching(form)]);
  });
});

describe('an update that left svc broken', () => {
  const statusOf = (version: string, outcome: string) =>
    parseStatus({
      version,
      channel: 'stable',
      reason: { code: 'up-to-date', message: `${version} is the newest` },
      upToDate: { code: 'newest', message: `${version} is the newest` },
      run: { id: 'run1', state: outcome, outcome, to: 'v1.5.0' },
    }) as Status;

  it('can be started again with the same release', () => {
    expect(chooseUpdateTarget(statusOf('v1.5.0', 'broken'), {})).toBe('v1.5.0');
    expect(chooseUpdateTarget(statusOf('v1.5.0', 'updated'), {})).toMatchObject({ exitCode: 0 });
  });
});

describe.concurrent('svc instance cancel', () => {
  it.each<[string, Script, string]>([
    ['no update is in progress', {}, 'No update is in progress.\n'],
    [
      'it is too late',
      { open: { steps: [{ state: 'verify', seconds: 600 }], end: { outcome: 'updated' } } },
      'The containers of svc are being replaced, so the update can no longer be cancelled.\n',
    ],
  ])('does nothing if %s', async (_, script, said) => {
    const { url } = await play(script);
    expect(await svc(url, 'instance cancel')).toEqual({ exitCode: 3, err: '', out: said });
  });
});

describe.concurrent('the configuration', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-config-'));
  const file = join(home, 'svc/config.json');
  afterAll(() => rmSync(home, { recursive: true }));

  it('is read from the environment first, then from the file', async () => {
    const seen: (string | null)[] = [];
    const { url } = await play({
      authorize: ({ headers }) => {
        seen.push(headers.get('authorization'));
        return 'admin';
      },
    });
    mkdirSync(join(home, 'svc'));
    writeFileSync(file, JSON.stringify({ url: `${url}/`, token: 'of-the-file' }), { mode: 0o640 });
    const warning = `! Other users can read or change ${file}, which contains the token. To prevent this, run: chmod 600 ${file}\n`;
    const status = (env: Record<string, string>) =>
      svc('', 'instance status', { env: { XDG_CONFIG_HOME: home, ...env } });
    expect(await status({})).toMatchObject({ exitCode: 0, err: warning });
    expect(await status({ SVC_TOKEN: 'own' })).toMatchObject({ exitCode: 0, err: '' });
    // The token in the file is sent only to the address in the file.
    const elsewhere = url.replace('127.0.0.1', 'localhost');
    expect(await status({ SVC_URL: elsewhere })).toMatchObject({ exitCode: 0, err: '' });
    expect(seen).toEqual(['Bearer of-the-file', 'Bearer own', null]);
  });
});

describe('help', () => {
  it.each(clientCommands)('for $name lists its options and two examples', (command) => {
    const help = formatCommandHelp(command);
    expect(help.match(/^ {2}(?:eval "\$\()?svc .* {2}\S/gm) ?? []).toHaveLength(2);
    for (const name of Object.keys(command.options)) expect(help).toContain(`  --${name}`);
  });

  it('lists every command, also after an unknown command', async () => {
    const { out } = await svc('', '--help');
    for (const { name } of clientCommands) expect(out).toContain(`  svc ${name} `);
    const [update] = clientCommands.filter(({ name }) => name === 'update');
    for (const words of ['update --help', 'help update'])
      expect((await svc('', words)).out).toBe(update && formatCommandHelp(update));
    const { err, exitCode } = await svc('', 'instance statsu');
    expect([exitCode, err]).toEqual([2, expect.stringContaining('instance status')]);
    expect((await svc('', '--version')).out).toMatch(/^svc (?:dev|v\d+\.\d+\.\d+)\n$/);
  });
});
