import { describe, expect, it } from 'vitest';
import type { Automatic } from '../../src/wire/status.ts';
import { play, stayingIn, svc } from './rig.ts';

const automatic: Automatic = {
  enabled: true,
  from: '02:00',
  to: '05:00',
  timeZone: 'Europe/Berlin',
  days: [],
  minAgeHours: 72,
  includeMajors: false,
  rehearse: false,
  nextAt: '2030-03-01T01:00:00.000Z',
  blockedBy: null,
};

/** Also returns the bodies of PUT requests. */
async function playAutomatic(change: Partial<Automatic> = {}) {
  const sent: unknown[] = [];
  const { url } = await play({
    status: { automatic: { ...automatic, ...change } },
    intercept: async (request) => {
      if (request.method === 'PUT') sent.push(await request.clone().json());
      return undefined;
    },
  });
  return { url, sent };
}

describe.concurrent('svc instance automatic', () => {
  it('prints the settings', async () => {
    const { url, sent } = await playAutomatic({ days: ['mon', 'tue'], includeMajors: true, minAgeHours: 0 });
    expect(await svc(url, 'instance automatic')).toEqual({
      exitCode: 0,
      err: '',
      out: [
        'Automatic updates are on.',
        '  time window     02:00 to 05:00 (Europe/Berlin), mon, tue',
        '  minimum age     none',
        '  major versions  included',
        '  rehearsal       off',
        'The next automatic update can start on 1 March after 02:00 (Europe/Berlin).\n',
      ].join('\n'),
    });
    const off = await playAutomatic({ enabled: false });
    expect((await svc(off.url, 'instance automatic')).out).toBe(
      [
        'Automatic updates are off.',
        '  time window     02:00 to 05:00 (Europe/Berlin), every day',
        '  minimum age     72 h after publication',
        '  major versions  excluded',
        '  rehearsal       off\n',
      ].join('\n'),
    );
    expect([...sent, ...off.sent]).toEqual([]);
  });

  it.each([
    [
      '--from 03:00 --to 04:30 --days mon,tue --time-zone UTC --min-age 0 --include-majors --rehearse',
      {
        enabled: true,
        from: '03:00',
        to: '04:30',
        days: ['mon', 'tue'],
        timeZone: 'UTC',
        minAgeHours: 0,
        includeMajors: true,
        rehearse: true,
      },
    ],
    ['--no-rehearse', { enabled: true, rehearse: false }],
    ['--days all', { enabled: true, days: [] }],
    ['--off', { enabled: false }],
  ])('changes only the given settings: %s', async (words, body) => {
    const { url, sent } = await playAutomatic();
    const { out, exitCode } = await svc(url, `instance automatic ${words}`);
    expect([exitCode, sent]).toEqual([0, [body]]);
    expect(out).toMatch(body.enabled ? /^Automatic updates are on\./ : /^Automatic updates are off\./);
  });

  it('reports all invalid options and sends no request', async () => {
    const { url, asked } = await play();
    const words = '--from 24:00 --to 2 --days mon,noday --min-age 9000 --include-majors --exclude-majors';
    const { err, exitCode } = await svc(url, `instance automatic ${words}`);
    expect([exitCode, asked]).toEqual([2, []]);
    expect(err.split('\n').map((line) => line.replace('svc: ', '').split(' ')[0])).toEqual([
      '--from',
      '--to',
      '--days',
      '--min-age',
      '--include-majors',
      'Help:',
      '',
    ]);
  });
});

describe.concurrent('an automatic update', () => {
  it('is reported in the status with the reason that blocks it', async () => {
    const { url } = await playAutomatic({
      blockedBy: { code: 'major', message: 'v1.5.0 is a major version' },
    });
    expect((await svc(url, 'instance status')).out).toMatch(
      /^Not installed automatically: v1\.5\.0 is a major version\.$/m,
    );
  });

  it.each([
    [20, 'v1.5.0 will be installed automatically as soon as nothing is blocking the update.'],
    [120, 'v1.5.0 will be installed automatically '],
  ])(
    'has a start time in the status only if it starts in a minute or later: in %d s',
    async (seconds, line) => {
      const { url } = await playAutomatic({ nextAt: new Date(Date.now() + seconds * 1000).toISOString() });
      const { out } = await svc(url, 'instance status');
      expect(out.split('\n').some((each) => each.startsWith(line))).toBe(true);
      expect(out.includes('as soon as nothing')).toBe(seconds < 60);
    },
  );

  it('is reported as started automatically', async () => {
    const { url, updates } = await play({ runs: [stayingIn('pull')] });
    await updates.update({ by: 'automatic' });
    expect((await svc(url, 'instance update')).out).toMatch(
      / is already in progress\. Started automatically at \d\d:\d\d\.$/m,
    );
    expect((await svc(url, 'instance history')).out).toMatch(/ in progress \(\w+\) {2}automatically\n$/);
  });
});
