import { describe, expect, it } from 'vitest';
import type { Script, ScriptedJob } from '../../src/server/testing/index.ts';
import { phaseNames } from '../../src/wire/codes.ts';
import { play } from './rig.ts';
import { sit } from './terminal.ts';

const job = (kind: ScriptedJob['kind'], title: string, more: Partial<ScriptedJob> = {}): ScriptedJob => ({
  kind,
  state: 'running',
  title,
  since: new Date(Date.now() - 125_000).toISOString(),
  stuck: false,
  ...more,
});

describe.concurrent('the client on a terminal', () => {
  it('shows the jobs of a waiting update, and prints after Ctrl-C that the update will start', async () => {
    let isSeen = false;
    const deployment = {
      ...job('deployment', 'web to production'),
      // The job ends once the screen has shown it.
      get seconds() {
        return isSeen ? 0 : Number.POSITIVE_INFINITY;
      },
    };
    const { url } = await play({ jobs: [deployment, job('backup', 'nightly')] });
    const { screens, all, exitCode } = await sit(url, 'instance update --when-idle', {
      columns: 40,
      onScreen: (screen) => {
        isSeen ||= screen.includes('for 2 jobs');
      },
      answers: [[/for 1 job\b/, '\x03']],
    });
    expect(exitCode).toBe(130);
    expect(
      screens.some((screen) =>
        /\n● Waiting {6}for 2 jobs +\d+ s\n[\s\S]*\n {2}deployment {2}web to production {1,2}/.test(screen),
      ),
    ).toBe(true);
    expect(all).toMatch(
      /\nThe update will start when the running job has finished\. To cancel: svc instance cancel\.$/,
    );
    expect(all.replaceAll('\n', ' ')).toContain(' New jobs stay queued. The update will start');
  });

  it('prompts before it stops a job and before it installs a major version', async () => {
    const script: Script = {
      speed: 20,
      jobs: [job('backup', 'nightly', { stuck: true })],
      status: { next: { version: 'v2.0.0', major: true } },
    };
    const yes = await play(script);
    const said = await sit(yes.url, 'instance update --force --no-follow', {
      columns: 120,
      answers: [
        [/Continue\? \[y\/N\]$/, 'y\r'],
        [/first\. Continue\? \[y\/N\]$/, 'y\r'],
      ],
    });
    expect(said.all).toMatch(
      /^1 job will be stopped:\n {2}backup {2}nightly {2}2 min, stuck\nContinue\? \[y\/N\] y\nv2\.0\.0 is a major version\. Migrations cannot be undone\. Back up your data first\. Continue\? \[y\/N\] y\nThe update to v2\.0\.0 has started\./,
    );
    expect(yes.asked.at(-1)).toBe('POST  {"target":"v2.0.0","force":true}');
    const no = await play(script);
    const refused = await sit(no.url, 'instance update --force', {
      columns: 80,
      answers: [[/\[y\/N\]$/, '\r']],
    });
    expect([refused.exitCode, refused.all]).toEqual([
      3,
      expect.stringMatching(/\nThe update was not started\.$/),
    ]);
    const left = await sit(no.url, 'instance update --force', {
      columns: 80,
      answers: [[/\[y\/N\]$/, '\x03']],
    });
    expect(left.exitCode).toBe(130);
    expect(no.asked.some((one) => one.startsWith('POST'))).toBe(false);
  });

  it.each([{ NO_COLOR: '1' }, { TERM: 'dumb' }])(
    'prints plain lines without escape codes with %j',
    async (env) => {
      const { url } = await play({ speed: 20 });
      const { raw, exitCode } = await sit(url, 'instance update', { columns: 80, env });
      expect(exitCode).toBe(0);
      expect(raw).not.toContain('\x1b');
      expect(
        raw
          .split('\r\n')
          .slice(1, 6)
          .map((line) => line.split(',')[0]),
      ).toEqual(['Prepared', 'Checked', 'Downloaded', 'Replaced', 'Verified']);
      expect(phaseNames).toHaveLength(7);
    },
  );
});
