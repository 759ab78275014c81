import { describe, expect, it } from 'vitest';
import { HostPaths } from '../../../../src/core/mounts/host-paths.ts';
import type { ListedContainer } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import {
  checkJournalFiles,
  checkJournalProject,
  checkJournalRestorePoint,
} from '../../../../src/updater/compose/recovery/check-journal.ts';
import { gatherPreviousRunFacts } from '../../../../src/updater/compose/recovery/gather-previous-run.ts';
import { initialJournaledRestorePoint } from '../../../../src/updater/compose/save/save-data.ts';
import type { RunContext } from '../../../../src/updater/run/run-context.ts';
import { foundInstance, journalData, project } from '../../../build.ts';
import { engineWith, rememberingLog, updateOptions } from '../../../build-plan.ts';

const bind = (source: string, destination = source) => ({
  type: 'bind',
  source,
  destination,
  writable: true,
});
const listed = (files: string, envFiles = '', name = project.name): ListedContainer =>
  ({
    labels: {
      [composeLabels.project]: name,
      [composeLabels.directory]: project.directory,
      [composeLabels.files]: files,
      ...(envFiles && { [composeLabels.envFiles]: envFiles }),
    },
  }) as unknown as ListedContainer;
const at = '/opt/svc/.svc-updater/journal.json';
const advice = `Find out who created ${at} and move it elsewhere, then run {command} again.`;

describe('checkProject', () => {
  const composed = [
    listed('/opt/svc/compose.yaml,/opt/svc/parts/more.yaml', '/etc/svc/svc.env'),
    listed('/srv/other/compose.yaml', '', 'other'),
  ];
  const paths = new HostPaths([bind('/opt/svc'), bind('/srv/other')]);
  const check = (
    changes: Partial<typeof project>,
    more: Parameters<typeof foundInstance>[0] = {},
    listedNow: readonly ListedContainer[] = composed,
  ) =>
    checkJournalProject(
      journalData({ project: { ...project, ...changes } }),
      foundInstance({ paths, ...more }),
      listedNow,
    );

  it.each<[string, Partial<typeof project>]>([
    ['the usual one', {}],
    ['what labels name', { files: ['/opt/svc/parts/more.yaml'], envFiles: ['/etc/svc/svc.env'] }],
    ['what lies in the directory', { files: ['/opt/svc/compose.prod.yaml'], envFiles: ['/opt/svc/.env'] }],
  ])('accepts %s', (_, changes) => {
    expect(() => check(changes)).not.toThrow();
  });

  it('accepts the directory under another path or at another mount point', () => {
    const place = { name: 'svc', directory: '/data/svc', mountedAt: '/work' };
    const mounted = new HostPaths([bind('/opt/svc', '/work')]);
    expect(() => check({}, { location: place, paths: mounted })).not.toThrow();
    expect(() =>
      check({ directory: '/data/svc', files: ['/data/svc/compose.yaml'] }, { location: place }),
    ).not.toThrow();
  });

  it.each<[string, Partial<typeof project>, string]>([
    [
      'another directory',
      { directory: '/srv/other', files: [] },
      'was written for another directory, /srv/other',
    ],
    [
      'a file where an app may write',
      { files: ['/opt/svc/data/evil.yaml'] },
      'lists the file /opt/svc/data/evil.yaml, but no container of svc was created from that file',
    ],
    [
      'the same by a detour',
      { files: ['/opt/svc/data/../data/evil.yaml'] },
      'lists the file /opt/svc/data/../data/evil.yaml, but no container of svc was created from that file',
    ],
    [
      "another project's file",
      { files: ['/srv/other/compose.yaml'] },
      'lists the file /srv/other/compose.yaml, but no container of svc was created from that file',
    ],
    [
      'an env file of nobody',
      { envFiles: ['/tmp/x.env'] },
      'lists the file /tmp/x.env, but no container of svc was created from that file',
    ],
  ])('refuses %s', (_, changes, what) => {
    expect(() => check(changes)).toThrow(
      expect.objectContaining({ code: 'unexpected-file', message: `the journal ${what}`, advice }),
    );
  });

  it('checks the journal before compose is called', async () => {
    const context = { engine: await engineWith({}), log: rememberingLog().log, options: updateOptions() };
    const data = journalData({ project: { ...project, files: ['/tmp/evil.yaml'] } });
    await expect(
      gatherPreviousRunFacts(context as RunContext, foundInstance({ paths, composed }), data),
    ).rejects.toMatchObject({ code: 'unexpected-file' });
  });
});

describe('checkFiles', () => {
  const file = (path: string) => ({
    ...{ path, real: path, before: null, after: 'a', backup: null, owner: null, temporary: `${path}.new` },
  });

  it('accepts the files of the project', () => {
    expect(() =>
      checkJournalFiles({ files: [file('/opt/svc/.env')] }, ['/opt/svc/.env'], '/opt/svc'),
    ).not.toThrow();
  });

  it('refuses any other file', () => {
    const files = [file('/opt/svc/.env'), file('/etc/cron.d/x')];
    expect(() => checkJournalFiles({ files }, ['/opt/svc/.env'], '/opt/svc')).toThrow(
      expect.objectContaining({
        code: 'unexpected-file',
        message: 'the journal lists /etc/cron.d/x, which is not a project file',
        advice,
      }),
    );
  });
});

describe('checkRestorePoints', () => {
  const run = '20261121T104207Z';
  const check = (directory: string, asked = '/opt/svc/.svc-updater/restore') =>
    checkJournalRestorePoint(
      { project, point: { ...initialJournaledRestorePoint, directory, inMemory: [] } },
      asked,
      '/opt/svc',
    );

  it.each<[string, ...Parameters<typeof check>]>([
    ['in the compose directory', `/opt/svc/.svc-updater/restore/${run}`],
    ['in it, although another directory is asked for', `/opt/svc/.svc-updater/restore/${run}`, '/mnt'],
    ['in a folder of it that is asked for', `/opt/svc/points/svc-0a1b-${run}`, '/opt/svc/points'],
    ['outside, where it was mounted', `/mnt/svc-0a1b-${run}`],
  ])('accepts a restore point %s', (_, ...given) => expect(() => check(...given)).not.toThrow());

  it('accepts a run without a restore point', () => {
    for (const point of [null, undefined])
      expect(() =>
        checkJournalRestorePoint({ project, ...(point === null && { point }) }, '/mnt', '/opt/svc'),
      ).not.toThrow();
  });

  it.each<[string, ...Parameters<typeof check>]>([
    ['where an app may write', `/opt/svc/data/${run}`],
    ['there by a detour', `/opt/x/../svc/data/${run}`],
    ['deeper than restore points are', `/opt/svc/.svc-updater/restore/x/${run}`],
    ['among the backups', `/opt/svc/.svc-updater/backup/${run}`],
    ['in a folder that is not asked for', `/opt/svc/points/${run}`],
  ])('refuses a restore point %s', (_, ...given) =>
    expect(() => check(...given)).toThrow(
      expect.objectContaining({
        code: 'unexpected-file',
        message: expect.stringMatching(
          /^the journal lists the restore point \/opt\/svc\/.*, which is outside the restore point directories/,
        ),
        advice,
      }),
    ),
  );
});
