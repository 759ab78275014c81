import { describe, expect, it } from 'vitest';
import { type Script, type ScriptedJob, typicalBack, typicalRun } from '../../src/instance/testing/index.ts';
import { runOf } from '../../src/wire/reader-shapes.ts';
import type { BackOffer, Run } from '../../src/wire/status.ts';
import { play, svc } from './rig.ts';
import { sit } from './terminal.ts';

const at = '2026-11-21T10:42:15.000Z';
const back: BackOffer = {
  from: 'v1.5.0',
  to: 'v1.4.2',
  at,
  rows: 214,
  tables: 6,
  files: 12,
  seconds: 9,
  words: ['orders: 214 rows more', 'uploads: 12 files more'],
};
const point = { at, version: 'v1.4.2', bytes: 325_000_000 };
const last = runOf({ id: 'last', state: 'updated', outcome: 'updated', to: 'v1.5.0', startedAt: at, point });
const upToDate = { code: 'newest', message: 'v1.5.0 is the newest on stable' } as const;
const after: Script = {
  speed: 20,
  status: { version: 'v1.5.0', next: null, upToDate },
  history: [last],
  back,
  backs: [typicalBack({ outcome: 'updated', version: 'v1.4.2' })],
};
const posts = (asked: readonly string[]) => asked.filter((one) => one.startsWith('POST'));
const lost = [
  'Comparing the data of now with those that were kept…',
  'Back from v1.5.0 to v1.4.2, with the data of 2026-11-21 10:42',
];

describe.concurrent('svc instance back', () => {
  it('says what is lost, and begins nothing where nobody can be asked', async () => {
    const { url, asked } = await play(after);
    const { out, err, exitCode } = await svc(url, 'instance back');
    expect([exitCode, posts(asked)]).toEqual([2, []]);
    const [comparing, way, what, ...rest] = out.trimEnd().split('\n');
    expect([comparing, way]).toEqual(lost);
    expect(what).toMatch(
      /^What was done since 2026-11-21 10:42 is lost, \d+ \w+: 214 rows in 6 tables, 12 files\.$/,
    );
    expect(rest).toEqual([
      '  orders: 214 rows more',
      '  uploads: 12 files more',
      'The data of now are kept as well, so that there is a way to v1.5.0 again. svc is away for about 9 s.',
    ]);
    expect(err).toMatch(/^svc: What was done since then is lost\. Nobody can be asked here: add --yes\n/);
  });

  it.each<[Partial<BackOffer>, RegExp]>([
    [{ rows: null, tables: null, files: null }, /: how much that is was not counted\.$/m],
    [{ rows: 0, tables: 0, files: 0 }, /: no row and no file differs\.$/m],
    [{ rows: 0, tables: 1, files: null }, /: changes in 1 table\.$/m],
    [
      { rows: 1, tables: 1, files: 0, since: '2026-11-23T08:00:00.000Z' },
      /since 2026-11-23 08:00 .*: 1 row in 1 table\.$/m,
    ],
    [{ words: ['orders\u202e: 1 row'] }, /^ {2}orders\\u202e: 1 row$/m],
  ])('says what %j means', async (change, form) => {
    const { url } = await play({ ...after, back: { ...back, ...change } });
    expect((await svc(url, 'instance back')).out).toMatch(form);
  });

  it('goes back where that was asked for with --yes, and is never called an update', async () => {
    const { url, asked } = await play(after);
    const { out, exitCode } = await svc(url, 'instance back --yes');
    expect([exitCode, posts(asked)]).toEqual([0, ['POST /back {"confirm":"v1.4.2"}']]);
    expect(out).toMatch(
      /\nGoing back: svc v1\.5\.0 → v1\.4\.2\n[\s\S]*\nsaved, \d+ s\n[\s\S]*\n✓ svc v1\.4\.2 runs\. \d+ s, away for 4 s\n$/,
    );
    expect(out).not.toMatch(/updat/i);
    expect((await svc(url, 'instance history')).out).toMatch(/v1\.5\.0 → v1\.4\.2 {2}went back {2}/);
  });

  it('prints for programs what is lost, then each event', async () => {
    const { url } = await play(after);
    const { out, exitCode } = await svc(url, 'instance back --yes --json --no-follow');
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(exitCode).toBe(0);
    expect(events).toMatchObject([
      { event: 'back', data: { to: 'v1.4.2', rows: 214 } },
      { event: 'run', data: { kind: 'back', to: 'v1.4.2' } },
    ]);
  });

  const job: ScriptedJob = { kind: 'deployment', state: 'running', title: 'web', since: null, stuck: false };
  it.each<[string, Script, string, string]>([
    [
      'nothing was kept',
      { ...after, back: undefined as never },
      '',
      'svc cannot go back now: No update has kept the data.\n',
    ],
    [
      'the updater refuses',
      {
        ...after,
        back: {
          code: 'back-refused',
          message: 'compose.yaml was changed',
          refusal: 'not-as-left',
          advice: 'Put it back.',
        },
      },
      '',
      'svc cannot go back now (not-as-left): compose.yaml was changed.\n  Next: Put it back.\n',
    ],
    [
      'jobs are in the way',
      { ...after, jobs: [job] },
      ' --yes',
      'svc cannot go back now: 1 job is in the way\n  deployment  web\nWait for it: svc instance back --when-idle. Cut it short: --force.\n',
    ],
  ])('is refused where %s', async (_, script, words, said) => {
    const { url, asked } = await play(script);
    const { out, exitCode } = await svc(url, `instance back${words}`);
    expect([exitCode, out.endsWith(said), asked.filter((one) => one === 'GET /progress')]).toEqual([
      3,
      true,
      [],
    ]);
    const json = await svc(url, `instance back${words} --json`);
    expect(JSON.parse(json.out.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ status: 409 });
  });

  it('cuts jobs short with --force', async () => {
    const { url, asked } = await play({ ...after, jobs: [job] });
    await svc(url, 'instance back --force --yes --no-follow');
    expect(posts(asked)).toEqual(['POST /back {"confirm":"v1.4.2","force":true}']);
  });

  it('asks on a terminal, then has the version typed', async () => {
    const sitting = (...keys: string[]) => ({
      columns: 100,
      answers: [/Go back\? \[y\/N\]$/, /Type v1\.4\.2 to go back:$/].map(
        (when, index) => [when, keys[index] ?? ''] as const,
      ),
    });
    for (const keys of [['\r'], ['y\r', 'yes\r'], ['y\r', 'v1.5.0\r']]) {
      const { url, asked } = await play(after);
      const { all, exitCode } = await sit(url, 'instance back', sitting(...keys));
      expect([exitCode, posts(asked)]).toEqual([3, []]);
      expect(all).toMatch(/Nothing was started\.$/);
    }
    const { url, asked } = await play(after);
    const { exitCode, all } = await sit(url, 'instance back', sitting('y\r', 'v1.4.2\r'));
    expect([exitCode, posts(asked)]).toEqual([0, ['POST /back {"confirm":"v1.4.2"}']]);
    expect(all).toMatch(/✓ svc v1\.4\.2 runs\./);
  });

  it.each<[Partial<Run>, number, RegExp]>([
    [{ outcome: 'failed', code: 'data-busy' }, 4, /✗ The way back failed \(data-busy\): /],
    [
      { outcome: 'broken', code: 'data-not-back' },
      5,
      /✗ The way back has left svc broken \(data-not-back\): /,
    ],
  ])('ends as an update does: %j', async ({ outcome, code }, exitCode, form) => {
    const end = { outcome: outcome as 'failed', code: code ?? '' };
    const { url } = await play({ ...after, backs: [typicalBack(end)] });
    const said = await svc(url, 'instance back --yes');
    expect([said.exitCode, said.out]).toEqual([exitCode, expect.stringMatching(form)]);
    const { out } = await svc(url, 'instance status');
    expect(out).toMatch(/^Last time, \d+ s ago: The way back /m);
  });
});

describe.concurrent('a restore point', () => {
  it('is told with the status', async () => {
    const { url } = await play(after);
    expect((await svc(url, 'instance status')).out).toMatch(
      /^Restore point: v1\.4\.2, with the data of 2026-11-21 10:42: svc instance back$/m,
    );
  });

  it.each([
    [12, ' Keeping them takes about 12 s, while svc is away.'],
    [null, ''],
  ])('is what is said before an update in place of a dump, with %j s', async (seconds, longer) => {
    const { url } = await play({
      status: {
        next: { version: 'v2.0.0', major: true },
        restorePoint: { seconds },
      },
    });
    const kept = `Your data are kept first; if v2.0.0 does not come up, svc goes back to v1.4.2 with them.${longer}`;
    expect((await svc(url, 'instance status')).out).toContain(`\n${kept}\n`);
    const { err } = await svc(url, 'instance update');
    expect(err).toContain(`migrations only run forward. ${kept} Go on?`);
    expect(err).not.toContain('dump');
  });

  it('is a phase of an update', async () => {
    const { url } = await play({ speed: 20, runs: [typicalRun({ outcome: 'updated', point })] });
    const { out } = await svc(url, 'instance update');
    expect(out).toMatch(/\npulled, .*\nsaved, \d+ s\nreplaced, /);
  });
});
