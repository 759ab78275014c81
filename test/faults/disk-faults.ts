import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { judgeUntouched } from '../judge/judge.ts';
import { endingOf } from '../judge/log.ts';
import { carried, fromFile, releaseArchive } from '../rig/release-archive.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { type Attempt, expectEnding, expectPins, nextRun } from './expect.ts';
import { expectThat, type Fault, type Trial } from './fault.ts';
import { page, type Room, type SmallDisk } from './full-disk.ts';
import { installNames, releaseOf } from './install.ts';
import { atMoment, type Moment, onLine } from './kill.ts';
import { ownHost } from './own-host.ts';
import type { Subject } from './subject.ts';

// Full disks: the disk of the compose directory, and the disk of the engine's data.

/** The peak of additional pages and files in a good run of the largest kind, and a few more. */
const pages = 16;
const files = 14;

const fault = (name: string, tries: number, shortTries: number, run: Fault['run']): Fault => ({
  group: 'disk',
  name,
  installs: installNames,
  tries,
  shortTries,
  run,
});

/**
 * An instance whose directory is on the small disk. Its `data` is not, because app and worker write there all the
 * time.
 */
async function subjectOnSmallDisk(trial: Trial): Promise<Subject> {
  const { host } = trial;
  const name = `${host.run}-${randomBytes(3).toString('hex')}`;
  const data = await mkdtemp(join(dirname(host.directory), 'data-'));
  await mkdir(join(host.directory, name));
  await symlink(data, join(host.directory, name, 'data'));
  return trial.subject({ name, release: releaseOf(trial.install, 0).options });
}

async function expectWhole(trial: Trial, attempt: Attempt, result: UpdateResult): Promise<void> {
  const last = result.lines.at(-1)?.message ?? '';
  trial.note(`ended: ${last}`);
  const outcome = await expectEnding(attempt, result);
  expectThat(outcome !== 'refused' && outcome !== 'cancelled', `the run ended ${outcome}`);
  if (outcome === 'failed') {
    expectThat(/room|space/i.test(last), `the last line has no advice about room: ${last}`);
  }
  await nextRun(attempt);
  await expectPins(attempt.subject);
}

async function tryFromTheStart(trial: Trial, room: Room): Promise<void> {
  const subject = await subjectOnSmallDisk(trial);
  const before = await subject.look();
  const to = await subject.publish();
  const { composeDisk } = ownHost();
  await composeDisk.leave(room);
  trial.finally(() => composeDisk.makeRoom());
  const result = await subject.update(to);
  await composeDisk.makeRoom();
  await expectWhole(trial, { subject, before, to }, result);
}

async function tryFrom(trial: Trial, moment: Moment, disk: SmallDisk, room: Room): Promise<void> {
  const subject = await subjectOnSmallDisk(trial);
  const before = await subject.look();
  const to = await subject.publish();
  trial.finally(() => disk.makeRoom());
  const { run, why } = await atMoment(
    moment,
    subject.instance,
    () => subject.start(to),
    () => disk.leave(room),
  );
  trial.note(why ?? 'the moment came too late');
  await disk.makeRoom();
  await expectWhole(trial, { subject, before, to }, await run.done);
}

/** A release of 8 MB with free space for 3 MB: prefetched, loaded from an archive, and installed. */
async function tryFullInThePull(trial: Trial): Promise<void> {
  const subject = await subjectOnSmallDisk(trial);
  const before = await subject.look();
  const to = await subject.publish({ ballast: 8_000_000 });
  const { engineDisk } = ownHost();
  trial.finally(() => engineDisk.makeRoom());
  await engineDisk.leave({ bytes: 3_000_000 });
  const fetched = await subject.instance.startUpdate(['fetch', ...to.args]).done;
  for (const fact of judgeUntouched(before, await subject.look()))
    expectThat(false, `after the fetch: ${fact}`);
  const { bytes } = await releaseArchive(subject.instance.image, to.tag, { release: to.options });
  const loaded = await subject.update({ args: fromFile }, await carried(subject.instance, bytes));
  for (const fact of judgeUntouched(before, await subject.look()))
    expectThat(false, `after the load: ${fact}`);
  const result = await subject.update(to);
  await engineDisk.makeRoom();
  for (const each of [fetched, loaded, result]) {
    expectThat(endingOf(each) === 'failed', `the run ended ${endingOf(each)}, not failed`);
    expectThat(
      each.log.includes('the disk of the engine is full'),
      'the log does not say whose disk is full',
    );
  }
  await expectWhole(trial, { subject, before, to }, result);
}

const phases = ['plan', 'pull', 'write', 'recreate', 'verify'] as const;

export const faults: readonly Fault[] = [
  fault('the compose directory has room for so many pages', pages, 1, (trial) =>
    tryFromTheStart(trial, { bytes: (trial.seed % pages) * page }),
  ),
  fault('the compose directory has room for so many files', files, 1, (trial) =>
    tryFromTheStart(trial, { files: trial.seed % files }),
  ),
  fault('the compose directory is full from some phase on', 10, 0, (trial) =>
    tryFrom(trial, onLine(trial.random.pick(phases)), ownHost().composeDisk, {
      bytes: 0,
      files: 0,
    }),
  ),
  fault("the engine's data directory is full in the pull", 3, 1, tryFullInThePull),
  fault("the engine's data directory is full when containers are replaced", 3, 0, (trial) =>
    tryFrom(trial, onLine('recreate', trial.random.below(600)), ownHost().engineDisk, { bytes: 0 }),
  ),
];
