import { describe, expect, it } from 'vitest';
import { type Script, type ScriptedJob, typicalRollback } from '../../src/server/testing/index.ts';
import { createRunWithDefaults } from '../../src/wire/api-client/parse-responses.ts';
import type { RollbackOffer } from '../../src/wire/status.ts';
import { parseLines, play, svc } from './rig.ts';
import { sit } from './terminal.ts';

const at = '2026-11-21T10:42:15.000Z';
const rollback: RollbackOffer = {
  from: 'v1.5.0',
  to: 'v1.4.2',
  at,
  downtimeSeconds: 9,
};
const point = { at, version: 'v1.4.2', bytes: 325_000_000, downtimeSeconds: 12 };
const last = createRunWithDefaults({
  id: 'last',
  state: 'updated',
  outcome: 'updated',
  to: 'v1.5.0',
  startedAt: at,
  restorePoint: point,
});
const upToDate = { code: 'newest', message: 'v1.5.0 is the newest on stable' } as const;
const after: Script = {
  speed: 20,
  status: { version: 'v1.5.0', next: null, upToDate },
  history: [last],
  rollback,
  rollbacks: [typicalRollback({ outcome: 'updated', version: 'v1.4.2' })],
};
const posts = (asked: readonly string[]) => asked.filter((one) => one.startsWith('POST'));

describe.concurrent('svc instance rollback', () => {
  it('prints the effects, and starts no rollback without a terminal', async () => {
    const { url, asked } = await play(after);
    const { out, err, exitCode } = await svc(url, 'instance rollback');
    expect([exitCode, posts(asked)]).toEqual([2, []]);
    const [checking, way, replaced, ...rest] = out.trimEnd().split('\n');
    expect([checking, way]).toEqual([
      'Checking the restore point…',
      'Roll back from v1.5.0 to v1.4.2, with the data saved at 2026-11-21 10:42',
    ]);
    expect(replaced).toMatch(
      /^All changes since 2026-11-21 10:42 \(\d+ \w+ ago\) will be discarded\. The current data is saved first\.$/,
    );
    expect(rest).toEqual(['svc will be unavailable for about 9 s (a guess).']);
    expect(err).toMatch(
      /^svc: A rollback replaces the current data\. Without a terminal, confirm with --yes\.\n/,
    );
  });

  it.each<[Partial<RollbackOffer>, RegExp]>([
    [{ since: '2026-11-23T08:00:00.000Z' }, /^All changes since 2026-11-23 08:00 \(/m],
    [{ from: 'v1.5.0\u202e' }, /^Roll back from v1\.5\.0\\u202e to v1\.4\.2/m],
  ])('includes %j in the printed effects', async (change, form) => {
    const { url } = await play({ ...after, rollback: { ...rollback, ...change } });
    expect((await svc(url, 'instance rollback')).out).toMatch(form);
  });

  it('starts without a prompt with --yes, and is never called an update', async () => {
    const { url, asked } = await play(after);
    const { out, exitCode } = await svc(url, 'instance rollback --yes');
    expect([exitCode, posts(asked)]).toEqual([0, ['POST /rollback {"confirm":"v1.4.2"}']]);
    expect(out).toMatch(
      /\nRolling back svc v1\.5\.0 → v1\.4\.2\n[\s\S]*\nData saved, \d+ s\n[\s\S]*\n✓ Rolled back to v1\.4\.2 in \d+ s \(3 s downtime\)\n$/,
    );
    expect(out).not.toMatch(/updat/i);
    expect((await svc(url, 'instance history')).out).toMatch(/v1\.5\.0 → v1\.4\.2 +rolled back {2}/);
  });

  it('with --json, prints the preview of the rollback, then each event', async () => {
    const { url } = await play(after);
    const { out, exitCode } = await svc(url, 'instance rollback --yes --json --no-follow');
    const events = parseLines(out);
    expect(exitCode).toBe(0);
    expect(events).toMatchObject([
      { event: 'rollback', data: { to: 'v1.4.2', downtimeSeconds: 9 } },
      { event: 'run', data: { kind: 'rollback', to: 'v1.4.2' } },
    ]);
  });

  const job: ScriptedJob = { kind: 'deployment', state: 'running', title: 'web', since: null, stuck: false };
  it.each<[string, Script, string, string]>([
    [
      'there is no restore point',
      { ...after, rollback: undefined as never },
      '',
      'Cannot roll back now: the last update did not save a restore point, or a rollback has used it.\n',
    ],
    [
      'the updater refuses',
      {
        ...after,
        rollback: {
          code: 'rollback-refused',
          message: 'compose.yaml was changed',
          refusal: 'modified-since',
          advice: 'Undo the edit.',
        },
      },
      '',
      'Cannot roll back now (modified-since): compose.yaml was changed.\n  Next: Undo the edit.\n',
    ],
    [
      'jobs are running',
      { ...after, jobs: [job] },
      ' --yes',
      'Cannot roll back now: 1 job is running\n  deployment  web\nTo wait for the job: svc instance rollback --when-idle. To stop the job: --force.\n',
    ],
  ])('does not start if %s', async (_, script, words, said) => {
    const { url, asked } = await play(script);
    const { out, exitCode } = await svc(url, `instance rollback${words}`);
    expect([exitCode, out.endsWith(said)]).toEqual([3, true]);
    expect(asked).not.toContain('GET /progress');
    const json = await svc(url, `instance rollback${words} --json`);
    expect(JSON.parse(json.out.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ status: 409 });
  });

  it('prompts on a terminal, then requires the user to type the version', async () => {
    const sitting = (...keys: string[]) => ({
      columns: 100,
      answers: [/Roll back\? \[y\/N\]$/, /Type v1\.4\.2 to roll back:$/].map(
        (when, index) => [when, keys[index] ?? ''] as const,
      ),
    });
    for (const keys of [['\r'], ['y\r', 'v1.5.0\r']]) {
      const { url, asked } = await play(after);
      const { all, exitCode } = await sit(url, 'instance rollback', sitting(...keys));
      expect([exitCode, posts(asked)]).toEqual([3, []]);
      expect(all).toMatch(/The rollback was not started\.$/);
    }
    const { url, asked } = await play(after);
    const { exitCode, all } = await sit(url, 'instance rollback', sitting('y\r', 'v1.4.2\r'));
    expect([exitCode, posts(asked)]).toEqual([0, ['POST /rollback {"confirm":"v1.4.2"}']]);
    expect(all).toMatch(/✓ Rolled back to v1\.4\.2 in /);
  });
});

describe.concurrent('a restore point', () => {
  it('is printed by svc instance status', async () => {
    const { url } = await play(after);
    expect((await svc(url, 'instance status')).out).toMatch(
      /^Restore point: v1\.4\.2, with the data saved at 2026-11-21 10:42\. To roll back: svc instance rollback$/m,
    );
  });

  it.each([[null, 'while the last changes are copied']])(
    'is announced before an update instead of a request to back up, with a downtime of %j s',
    async (seconds, long) => {
      const { url } = await play({
        status: {
          next: { version: 'v2.0.0', major: true },
          restorePoint: { downtimeSeconds: seconds },
        },
      });
      const saved = `Data is saved first. If v2.0.0 fails, svc rolls back to v1.4.2 and restores the data. svc will be unavailable ${long}.`;
      expect((await svc(url, 'instance status')).out).toContain(`Migrations cannot be undone. ${saved}\n`);
      const { out, err } = await svc(url, 'instance update');
      expect(out).toBe(`${saved}\n`);
      expect(err).toContain('Migrations cannot be undone. Continue?');
      expect(err).not.toContain('Back up');
    },
  );
});
