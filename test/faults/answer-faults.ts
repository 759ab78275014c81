import { createServer } from 'node:net';
import type { Outcome } from '../../src/core/progress/outcome.ts';
import { clusterCompose, generatedCompose } from '../rig/compose-text.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { expectEnding, expectPins, expectUpKeepsVersion, nextRun } from './expect.ts';
import { expectThat, type Fault, type Trial } from './fault.ts';
import { type InstallName, releaseOf } from './install.ts';

// The engine does what is requested, and the result is bad: a container that cannot start, or is unhealthy.

interface Story {
  /** The defect of the release. */
  release: ReleaseOptions;
  ends: Outcome;
  args?: readonly string[];
}

const kinds: readonly InstallName[] = ['variable', 'moved', 'generated', 'inline', 'canary', 'cluster-only'];
const impatient = ['--wait-timeout', '8'];

/** Updates to a bad release, checks the result, and updates to a good release. */
async function tryRelease(trial: Trial, { release, ends, args = [] }: Story): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const bad = await subject.publish(release);
  const outcome = await expectEnding({ subject, before, to: bad }, await subject.update(bad, {}, ...args));
  expectThat(outcome === ends, `the run ended ${outcome}, not ${ends}`);
  // A floating tag must not start the failed release later.
  if (ends === 'failed') await expectUpKeepsVersion(subject);
  if (ends === 'updated') return expectPins(subject);
  trial.note(`${outcome}, as it must be; now a newer release is good`);
  const from = ends === 'failed' ? await subject.look() : before;
  await nextRun({ subject, before: from, to: await subject.publish() });
  await expectUpKeepsVersion(subject);
}

const badRelease = (name: string, tries: number, shortTries: number, story: Story): Fault => ({
  group: 'answers',
  name,
  installs: kinds,
  tries,
  shortTries,
  run: (trial) => tryRelease(trial, story),
});

/** Another program listens on a port until the try has ended, or `release` is called. */
async function takePort(trial: Trial): Promise<{ port: number; release(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const release = async () => {
    await new Promise((resolve) => server.close(resolve));
  };
  trial.finally(release);
  const address = server.address();
  return { port: typeof address === 'object' && address ? address.port : 0, release };
}

/** The release's file requires something unavailable; the publisher's fixed release does not. */
async function tryShipped(trial: Trial, change: { extra: Record<string, string> }): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const { version } = releaseOf(trial.install, subject.release.number + 1);
  const bad = await subject.publish({
    files: {
      'compose.yaml': generatedCompose(version, change),
      'compose.cluster.yaml': clusterCompose(version, change),
    },
  });
  const outcome = await expectEnding({ subject, before, to: bad }, await subject.update(bad));
  expectThat(outcome === 'failed', `the run ended ${outcome}, not failed`);
  await expectUpKeepsVersion(subject);
  const mended = releaseOf(trial.install, bad.number);
  trial.note('brought back; now the publisher mends the release');
  await subject.publishAgain(mended);
  await nextRun({ subject, before: await subject.look(), to: mended });
  await expectUpKeepsVersion(subject);
}

/** The operator's own edit, not yet applied: a port that is in use, and is free later. */
async function tryTakenPort(trial: Trial): Promise<void> {
  const { port, release } = await takePort(trial);
  const subject = await trial.subject({});
  const { instance } = subject;
  const texts = await Promise.all(
    Object.keys((await instance.snapshot()).files).map(
      async (path) => [path, await instance.read(path)] as const,
    ),
  );
  const [path, text] = texts.find(([, each]) => each.includes('command: app')) ?? [];
  if (path === undefined || text === undefined) throw new Error('no file defines the app');
  await instance.write(path, text.replace(":8080']", `:8080', '127.0.0.1:${port}:9090']`));
  const before = await subject.look();
  const to = await subject.publish();
  const outcome = await expectEnding({ subject, before, to }, await subject.update(to));
  expectThat(outcome === 'failed', `the run ended ${outcome}, not failed`);
  trial.note('brought back with the edit that cannot start; now it can');
  await release();
  await nextRun({ subject, before: await subject.look(), to });
  await expectUpKeepsVersion(subject);
}

const handwritten: readonly InstallName[] = ['variable', 'inline', 'moved', 'env-file', 'canary'];
const generated: readonly InstallName[] = ['generated', 'cluster-only', 'cluster'];
const noDevice = "devices: ['/dev/there-is-none:/dev/there-is-none']";

const own = (
  name: string,
  installs: readonly InstallName[],
  shortTries: number,
  run: Fault['run'],
): Fault => ({
  group: 'answers',
  name,
  installs,
  tries: 3,
  shortTries,
  run,
});

export const faults: readonly Fault[] = [
  own('a missing device in a new generated file', generated, 1, (trial) =>
    tryShipped(trial, { extra: { app: noDevice } }),
  ),
  own("a taken port among one's own edits", handwritten, 1, tryTakenPort),
  badRelease('a bad entrypoint', 6, 0, {
    release: { entrypoint: ['/bin/there-is-no-such-file'] },
    ends: 'failed',
  }),
  badRelease('an image that exits at once', 4, 0, {
    release: { env: { FAULT_APP: 'exit', FAULT_WORKER: 'exit' } },
    ends: 'broken',
    args: impatient,
  }),
  badRelease('one that is never healthy', 4, 0, {
    release: { env: { FAULT_APP: 'unhealthy', FAULT_WORKER: 'unhealthy' } },
    ends: 'broken',
    args: impatient,
  }),
  badRelease('one that crashes in a loop', 4, 0, {
    release: { env: { FAULT_APP: 'crash', FAULT_WORKER: 'crash' } },
    ends: 'broken',
    args: impatient,
  }),
  badRelease('one whose worker alone exits', 4, 0, {
    release: { env: { FAULT_WORKER: 'exit' } },
    ends: 'broken',
    args: impatient,
  }),
  {
    ...badRelease('one that is healthy after a minute of migrations', 2, 1, { release: {}, ends: 'updated' }),
    run: (trial) =>
      tryRelease(trial, {
        release: { env: { READY_AFTER: trial.short ? '15' : '60' } },
        ends: 'updated',
        args: ['--wait-timeout', '120'],
      }),
  },
];
