import { describe, expect, it } from 'vitest';
import {
  type Script,
  type ScriptedJob,
  type ScriptedStep,
  typicalRun,
} from '../../src/instance/testing/index.ts';
import { phaseWords } from '../../src/wire/codes.ts';
import { play } from './rig.ts';
import { sit } from './terminal.ts';

/** With a dump before it, and bytes in its pull; what is looked for on the screen lasts until it was there. */
function storyFor(seen: (text: string) => boolean): Script {
  const { steps, end } = typicalRun();
  const said = steps.flatMap((step): ScriptedStep[] => {
    if (step.state !== 'pull')
      return [
        {
          ...step,
          says: [step.state],
          lasts: () => step.state === 'recreate' && !seen('svc is unavail'),
        },
      ];
    const says = { message: '51 of 120 MB', percent: 42 };
    return [
      { ...step, says: [says], lasts: () => !seen('42 %') },
      { ...step, says: [{ message: '120 MB', percent: 100 }] },
    ];
  });
  const dump: ScriptedStep = {
    state: 'preparing',
    seconds: 3,
    says: ['pg_dump'],
    lasts: () => !seen('pg_dump'),
  };
  return { speed: 20, runs: [{ steps: [dump, ...said], end }], status: { buildServers: [buildServer] } };
}
const buildServer = {
  name: 'build-1',
  version: 'v1.4.2',
  behind: true,
  command: 'apt upgrade svc-worker',
};

const job = (kind: ScriptedJob['kind'], title: string, more: Partial<ScriptedJob> = {}): ScriptedJob => ({
  kind,
  state: 'running',
  title,
  since: new Date(Date.now() - 125_000).toISOString(),
  stuck: false,
  ...more,
});

describe.concurrent('on a terminal', () => {
  it.each([80, 40])('of %d columns an update is a list that fills in', async (columns) => {
    let shown = '';
    const { url } = await play(storyFor((text) => shown.includes(text)));
    const onScreen = (screen: string) => (shown += screen);
    const { screens, all, raw, exitCode } = await sit(url, 'instance update', { columns, onScreen });
    expect(exitCode, all).toBe(0);
    const text = columns === 80 ? 20 : 16;
    const row = (word: string, said: string, time: string) =>
      `${word.padEnd(15)}${said.padEnd(text)}${time.padStart(8)}`;
    const timeless = (screen: string) => screen.replace(/\d+ s$/gm, (time) => 'N s'.padStart(time.length));
    const plain = screens.map(timeless);
    const list = (...rows: string[]) => ['Updating svc v1.4.2 → v1.5.0', ...rows].join('\n');
    const prepared = row('✓ prepared', 'pg_dump', 'N s');
    const checked = row('✓ checked', '', 'N s');
    const pulled = row('✓ pulled', '120 MB', 'N s');
    const pulling = columns === 80 ? '42 % 51 of 120 MB' : '42 % 51 of 120…';
    const unavailable = columns === 80 ? 'svc is unavailable' : 'svc is unavaila…';
    for (const screen of [
      list(row('● preparing', 'pg_dump', 'N s'), '  checking', '  pulling', '  replacing', '  verifying'),
      list(prepared, checked, row('● pulling', pulling, 'N s'), '  replacing', '  verifying'),
      list(prepared, checked, pulled, row('● replacing', unavailable, 'N s'), '  verifying'),
    ]) {
      expect(plain).toContain(screen);
    }
    // What is left on the screen is the whole story, once.
    const lines = all.split('\n');
    const replaced = [prepared, checked, pulled, row('✓ replaced', '', 'N s'), row('✓ verified', '', 'N s')];
    expect(timeless(lines.slice(0, 6).join('\n'))).toBe(list(...replaced));
    expect(lines[6]).toMatch(/^✓ svc v1\.5\.0 runs\. \d+ s, away for 2 s$/);
    expect(lines[7]).toBe('1 build server stays behind:');
    expect(raw).toContain('\x1b[32m✓\x1b[0m svc v1.5.0 runs.');
    for (const screen of screens) expect(screen.match(/Updating/g)).toHaveLength(1);
  });

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
