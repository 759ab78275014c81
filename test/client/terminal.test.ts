import { describe, expect, it } from 'vitest';
import type { Script, ScriptedJob } from '../../src/instance/testing/index.ts';
import { phaseWords } from '../../src/wire/codes.ts';
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

describe.concurrent('on a terminal', () => {
  it('one that waits says what for, and Ctrl-C what goes on', async () => {
    let isSeen = false;
    const deployment = {
      ...job('deployment', 'web to production'),
      // It ends once it was on the screen.
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
        /\n● waiting {6}for 2 jobs +\d+ s\n[\s\S]*\n {2}deployment {2}web to production {1,2}/.test(screen),
      ),
    ).toBe(true);
    expect(all).toMatch(/\nIt still waits for 1 job and starts by itself\. Stop it: svc instance cancel\.$/);
    expect(all.replaceAll('\n', ' ')).toContain(' It waits for them. New jobs stay queued. It still');
  });

  it('a job that is cut short and a major version are asked about', async () => {
    const script: Script = {
      speed: 20,
      jobs: [job('backup', 'nightly', { stuck: true })],
      status: { next: { version: 'v2.0.0', major: true } },
    };
    const yes = await play(script);
    const said = await sit(yes.url, 'instance update --force --no-follow', {
      columns: 120,
      answers: [
        [/Go on\? \[y\/N\]$/, 'y\r'],
        [/first\. Go on\? \[y\/N\]$/, 'y\r'],
      ],
    });
    expect(said.all).toMatch(
      /^1 job is cut short:\n {2}backup {2}nightly {2}2 min, stuck\nGo on\? \[y\/N\] y\nv2\.0\.0 is a major version; migrations only run forward\. Take a database dump first\. Go on\? \[y\/N\] y\nThe update to v2\.0\.0 has started\./,
    );
    expect(yes.asked.at(-1)).toBe('POST  {"target":"v2.0.0","force":true}');
    const no = await play(script);
    const refused = await sit(no.url, 'instance update --force', {
      columns: 80,
      answers: [[/\[y\/N\]$/, '\r']],
    });
    expect([refused.exitCode, refused.all]).toEqual([3, expect.stringMatching(/\nNothing was started\.$/)]);
    const left = await sit(no.url, 'instance update --force', {
      columns: 80,
      answers: [[/\[y\/N\]$/, '\x03']],
    });
    expect(left.exitCode).toBe(130);
    expect(no.asked.some((one) => one.startsWith('POST'))).toBe(false);
  });

  it.each([{ NO_COLOR: '1' }, { TERM: 'dumb' }])(
    'with %j there are plain lines, without an escape code',
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
      ).toEqual(['prepared', 'checked', 'pulled', 'replaced', 'verified']);
      expect(phaseWords).toHaveLength(7);
    },
  );
});
