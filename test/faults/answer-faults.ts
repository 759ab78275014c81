import { createServer } from 'node:net';
import type { Outcome } from '../../src/progress/outcome.ts';
import { clusterCompose, generatedCompose } from '../rig/compose-text.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { expectEnding, expectPins, expectUpKeepsVersion, nextRun } from './expect.ts';
import { expectThat, type Fault, type Trial } from './fault.ts';
import { type InstallName, releaseOf } from './install.ts';

// The engine does what it is told and something comes of it: a container that cannot start, or is not well.

interface Story {
  /** What is wrong with the release. */
  release: ReleaseOptions;
  ends: Outcome;
  args?: readonly string[];
}

const kinds: readonly InstallName[] = ['variable', 'moved', 'generated', 'inline', 'canary', 'cluster-only'];
const impatient = ['--wait-timeout', '8'];

/** Tried, judged, and then a newer release is good. */
async function tryRelease(trial: Trial, { release, ends, args = [] }: Story): Promise<void> {
  const subject = await trial.subject();
  const before = await subject.look();
  const bad = await subject.publish(release);
  const outcome = await expectEnding({ subject, before, to: bad }, await subject.update(bad, {}, ...args));
  expectThat(outcome === ends, `the run ended ${outcome}, not ${ends}`);
  // A tag that floats must not start by itself what has failed.
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

/** Another program listens there until the try has ended, or `release` is called. */
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

/** What cannot be had stands in the file of the release, and not any more in the one that its publisher has mended. */
async function tryShipped(
  trial: Trial,
  change: { port?: string; extra?: Record<string, string> },
): Promise<void> {
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

/** The operator's own edit, not applied yet. */
interface Edit {
  edit(text: string): string;
  /** What makes it possible later: something outside, or another edit. */
  mend(text: string): Promise<string>;
  /** For the update that fails. */
  args?: readonly string[];
}

async function tryEdited(trial: Trial, { edit, mend, args = [] }: Edit): Promise<void> {
  const subject = await trial.subject({});
  const { instance } = subject;
  const texts = await Promise.all(
    Object.keys((await instance.snapshot()).files).map(
      async (path) => [path, await instance.read(path)] as const,
    ),
  );
  const [path, text] = texts.find(([, each]) => each.includes('command: app')) ?? [];
  if (path === undefined || text === undefined) throw new Error('no file defines the app');
  await instance.write(path, edit(text));
  const before = await subject.look();
  const to = await subject.publish();
  const outcome = await expectEnding({ subject, before, to }, await subject.update(to, {}, ...args));
  expectThat(outcome === 'failed', `the run ended ${outcome}, not failed`);
  trial.note('brought back with the edit that cannot start; now it can');
  await instance.write(path, await mend(edit(text)));
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
  own('a taken port in a new generated file', generated, 0, async (trial) => {
    const { port } = await takePort(trial);
    await tryShipped(trial, { port: `${port}` });
  }),
  own('a missing device in a new generated file', generated, 1, (trial) =>
    tryShipped(trial, { extra: { app: noDevice } }),
  ),
  own("a taken port among one's own edits", handwritten, 1, async (trial) => {
    const { port, release } = await takePort(trial);
    await tryEdited(trial, {
      edit: (text) => text.replace(":8080']", `:8080', '127.0.0.1:${port}:9090']`),
      mend: async (text) => {
        await release();
        return text;
      },
    });
  }),
  own("a missing device among one's own edits", handwritten, 0, (trial) =>
    tryEdited(trial, {
      edit: (text) => text.replace('command: app\n', `command: app\n    ${noDevice}\n`),
      mend: async (text) => text.replace(`    ${noDevice}\n`, ''),
      // What gives an app a right over the machine is otherwise refused.
      args: ['--accept-drift'],
    }),
  ),
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
