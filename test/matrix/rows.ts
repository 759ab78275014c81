import { execa } from 'execa';
import {
  type Attempt,
  expectBroughtBack,
  expectDead,
  expectEnding,
  expectPins,
  expectUpdated,
  expectUpKeepsVersion,
  nextRun,
} from '../faults/expect.ts';
import { survive } from '../faults/fault.ts';
import { type InstallName, releaseOf } from '../faults/install.ts';
import { atMoment, type Moment, onEngineEvent, onLine } from '../faults/kill.ts';
import type { OwnEngine } from '../faults/own-engine.ts';
import { awaitComeback, launched } from '../faults/restarted-updater.ts';
import { RestoreStage } from '../faults/restore-stage.ts';
import { tryOnce } from '../faults/restore-tries.ts';
import { Subject } from '../faults/subject.ts';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeOutcome, judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { machinePlatform } from '../rig/image.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { plainPhases } from '../rig/phases.ts';
import { carried, fromFile, releaseArchive } from '../rig/release-archive.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { startServerInstance } from '../rig/server/server-instance.ts';
import type { TestHost } from '../rig/test-host.ts';
import type { EngineKind } from './engines.ts';
import { tryPodman } from './podman-row.ts';
import type { RowName } from './results.ts';
import { tryServer } from './server-row.ts';
import { tryStrangers } from './strangers-row.ts';

/** Context and results of a row. */
export interface RowContext {
  host: TestHost;
  engine: OwnEngine;
  /** Instances of the row, for its log and for cleanup. */
  subjects: Pick<Subject, 'instance' | 'runs'>[];
  podman: EngineKind['podman'] | null;
  /** Stores the services that the owner's `up -d` recreated after a successful update; called by one row. */
  nextUp(services: string[]): void;
}

/** Publishes an index, as most releases do; its digest is not the digest of the image. */
const index: ReleaseOptions = { platforms: [machinePlatform] };

/** Starts only two containers, if the other services are not relevant. */
const alone: InstanceOptions = { up: ['--no-deps', 'app', 'worker'] };

/**
 * Starts all services from images that were pulled before. If compose 5 pulls an image in `up`, it recreates the
 * container at the next `up`, independently of the update (docs/matrix.md).
 */
const settled: InstanceOptions = { pullFirst: true };

/** The test of each row, the longest first. A test throws `Lost` if a promise is broken. */
export const rows: Readonly<Record<RowName, (row: RowContext) => Promise<void>>> = {
  podman: async (row) => {
    await tryPodman(await start(row, 'moved', alone));
  },
  strangers: async (row) => {
    await tryStrangers(await start(row, 'variable', alone));
  },
  server: async ({ host, subjects }) => {
    const instance = await startServerInstance(host, { ...alone, release: index });
    await instance.publish('v1.1.0', index);
    subjects.push({ instance, runs: [] });
    await tryServer(instance);
  },
  kill: async (row) => {
    const attempt = await begin(row, 'variable', settled);
    // Between the stop of the old app and the start of the new app.
    await killAndGoOn(attempt, onEngineEvent('die', 'app'));
    if (row.podman !== 'all-anew') await expectUpKeepsVersion(attempt.subject);
  },
  kills: async (row) => {
    const subject = await start(row, 'variable', alone);
    for (const phase of plainPhases) {
      const before = await subject.look();
      await killAndGoOn({ subject, before, to: await subject.publish(index) }, onLine(phase));
    }
  },
  points: async ({ host, subjects }) => {
    const stage = await RestoreStage.start(host, 'files');
    subjects.push({ instance: stage.instance, runs: [] });
    const moments = { bad: onLine(/; rolling back to v\S+ with the data/), rollback: onLine('save') };
    for (const story of ['bad', 'rollback'] as const) {
      const { why } = await tryOnce(stage, { story, strike: 'updater', moment: moments[story] });
      survive(why === null ? [`${story}: nothing was killed`] : []);
    }
    await stage.dispose();
  },
  restart: async (row) => {
    const release = releaseOf('variable', 0, { env: { STOP_DELAY: '5' } }).options;
    const attempt = await begin(row, 'variable', { ...alone, release });
    const { subject, to } = attempt;
    const { run } = await atMoment(
      onLine('recreate'),
      subject.instance,
      () => subject.start(to, launched),
      async () => {
        await row.engine.stop();
        await row.engine.start();
      },
    );
    survive(judgeOutcome(await awaitComeback(subject, run), ['updated']));
    await subject.forget(run);
    await subject.instance.waitUntilHealthy(60);
    await expectUpdated(attempt, { restarted: true });
    await nextRun(attempt, { restarted: true });
  },
  'no-start': async (row) => {
    const attempt = await begin(row, 'generated', alone, { entrypoint: ['/bin/there-is-no-such-file'] });
    const { subject } = attempt;
    survive(judgeOutcome(await subject.update(attempt.to), ['failed']));
    await expectBroughtBack(attempt);
    await nextRun({ subject, before: await subject.look(), to: await subject.publish(index) });
  },
  variable: async (row) => {
    const { subject } = await updateWell(await begin(row, 'variable', settled));
    const before = await look(subject.instance);
    if (row.podman === 'all-anew') {
      await subject.instance.compose('up', '-d');
      await expectPins(subject);
    } else await expectUpKeepsVersion(subject);
    const after = await look(subject.instance);
    const fresh = Object.entries(after.containers).filter(
      ([name, { id }]) => before.containers[name]?.id !== id,
    );
    row.nextUp(fresh.map(([, { service }]) => service));
  },
  generated: async (row) => {
    await updateWell(await begin(row, 'generated', alone));
  },
  literal: async (row) => {
    const { subject } = await updateWell(await begin(row, 'inline', alone));
    await updateFromFile(subject);
  },
  digest: tryDigest,
  floating: async (row) => {
    const attempt = await begin(row, 'moved', { ...alone, ...settled });
    // Podman cannot query a registry for digests.
    if (row.podman === null) await fetchImages(attempt);
    const { subject, to } = await updateWell(attempt);
    const before = await look(subject.instance);
    survive(judgeOutcome(await subject.update(to), ['unchanged']));
    survive(judgeUntouched(before, await look(subject.instance)));
  },
};

/** Kills the updater at a moment; the next run must succeed. */
async function killAndGoOn(attempt: Attempt, moment: Moment): Promise<void> {
  const { subject, to } = attempt;
  const { run } = await atMoment(
    moment,
    subject.instance,
    () => subject.start(to),
    (it) => it.kill(),
  );
  const { exitCode } = await run.done;
  if (exitCode === 137) await expectDead(attempt);
  else await expectEnding(attempt, await run.done);
  await nextRun(attempt);
}

/** Starts an instance with its first release. */
async function start(row: RowContext, install: InstallName, options: InstanceOptions): Promise<Subject> {
  const first = releaseOf(install, 0, index).options;
  const subject = await Subject.start(row.host, install, { release: first, ...options });
  row.subjects.push(subject);
  return subject;
}

/** Starts an instance with its first release, and publishes the next release. */
async function begin(
  row: RowContext,
  install: InstallName,
  options: InstanceOptions = {},
  release: ReleaseOptions = {},
): Promise<Attempt> {
  const subject = await start(row, install, options);
  const before = await subject.look();
  return { subject, before, to: await subject.publish({ ...index, ...release }) };
}

/** Prefetches the images; the owner's next `up -d` must not recreate anything. */
async function fetchImages({ subject: { instance }, before, to }: Attempt): Promise<void> {
  survive(judgeOutcome(await instance.startUpdate(['fetch', ...to.args]).done, ['fetched']));
  await instance.compose('up', '-d', '--no-deps', 'app', 'worker');
  survive(judgeUntouched(before, await look(instance)));
}

async function updateWell(attempt: Attempt): Promise<Attempt> {
  const result = await attempt.subject.update(attempt.to);
  survive(judgeOutcome(result, ['updated']));
  await expectUpdated(attempt);
  await expectPins(attempt.subject);
  return attempt;
}

/** Updates from an archive to the next release, which is in no registry. */
async function updateFromFile(subject: Subject): Promise<void> {
  const { instance, install } = subject;
  const to = releaseOf(install, 2);
  const { bytes } = await releaseArchive(instance.image, to.tag, { release: to.options });
  const before = await subject.look();
  const from = { args: fromFile };
  survive(judgeOutcome(await subject.update(from, await carried(instance, bytes)), ['updated']));
  await expectUpdated({ subject, before, to });
}

/** Updates an image with tag and digest; both change. */
async function tryDigest(row: RowContext): Promise<void> {
  const { subject } = await begin(row, 'inline', alone);
  const { instance, release } = subject;
  // Publishing the same content again returns its digest.
  const [old, fresh] = [release, releaseOf('inline', 1)].map(({ tag, options }) =>
    instance.publish(tag, { ...options, ...index }),
  );
  const pin = { from: `${release.tag}@${await old}`, to: `v1.1.0@${await fresh}` };
  await instance.write(
    'compose.yaml',
    (await instance.read('compose.yaml')).replaceAll(release.tag, pin.from),
  );
  await instance.compose('up', '-d', '--no-deps', 'app', 'worker');
  await instance.waitUntilHealthy();
  const before = await look(instance);
  const updated = await subject.update(releaseOf('inline', 1));
  // Podman reports the digests of index and manifest.
  if (row.podman !== null) {
    const ends = [/^refused \(pin-unsupported\): nothing was changed/];
    survive(judgeWords(updated, { exitCode: 3, says: ['Podman has 2 digests for '], ends }));
    return survive(judgeUntouched(before, await look(instance)));
  }
  survive(judgeOutcome(updated, ['updated']));
  const changed = { 'compose.yaml': (text: string) => text.replaceAll(pin.from, pin.to) };
  survive(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }));

  // Only an engine with the containerd image store knows the digest of a loaded image.
  const next = releaseOf('inline', 2);
  const { bytes } = await releaseArchive(instance.image, next.tag, { release: next.options });
  const loaded = await subject.update({ args: fromFile }, await carried(instance, bytes));
  const { stdout: store } = await execa('docker', ['info', '--format', '{{.DriverStatus}}']);
  const isContainerd = store.includes('io.containerd.snapshotter');
  survive(judgeOutcome(loaded, [isContainerd ? 'updated' : 'refused']));
  if (!isContainerd)
    survive(judgeWords(loaded, { exitCode: 3, says: [], ends: [/^refused \(pin-unsupported\)/] }));
}
