import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { endingOf } from '../judge/log.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import type { Instance } from '../rig/instance.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import {
  expectBroken,
  expectDeadFiles,
  expectEnding,
  expectPins,
  expectUpKeepsVersion,
  nextRun,
} from './expect.ts';
import { type Fault, type GroupName, Lost, type Trial } from './fault.ts';
import { installNames, releaseOf } from './install.ts';
import { afterMs, atMoment, type Moment, onDiskChange, onEngineStep, onLine } from './kill.ts';
import { type OwnHost, ownHost } from './own-host.ts';
import { awaitComeback, launched } from './restarted-updater.ts';
import type { Subject } from './subject.ts';

// The engine becomes unavailable during an update, and returns: the update must reach its target automatically.

/** A moment in a run, with options that make its phase long enough. */
export interface Place {
  name: string;
  moment(trial: Trial): Moment;
  /** Options of the target release. */
  release?: ReleaseOptions;
  /** Seconds that app and worker of the old release take to stop. */
  stopDelay?: number;
  /** The registry sends slowly until the engine is unavailable. */
  slowPull?: boolean;
}

/**
 * After the new worker has started, while the new app is becoming healthy: this phase has no log line of its own yet.
 */
function onWorkerStart(afterStartMs: number): Moment {
  const name = `${afterStartMs} ms after the new worker has started`;
  const starts = async (instance: Instance) =>
    (await instance.boots()).filter((boot) => boot.startsWith('worker ')).length;
  return {
    name,
    watch: async (instance, now) => {
      const before = await starts(instance);
      let stopped = false;
      const look = async () => {
        while (!stopped && (await starts(instance)) === before) await sleep(20);
        await sleep(afterStartMs);
        if (!stopped) now(name);
      };
      look();
      return {
        stop: () => {
          stopped = true;
        },
      };
    },
  };
}

const within = (ms: number) => (trial: Trial) => 1 + trial.random.below(ms);

export const places = {
  pull: {
    name: 'in the pull',
    moment: (trial) => onLine('plan', within(4_000)(trial)),
    release: { ballast: 400_000 },
    slowPull: true,
  },
  write: { name: 'at a change on the disk', moment: (trial) => onDiskChange(1 + (trial.seed % 28)) },
  stopping: {
    name: 'while app and worker stop',
    moment: (trial) => onLine('recreate', within(6_500)(trial)),
    stopDelay: 3,
  },
  recreate: { name: 'at a step of recreate', moment: (trial) => onEngineStep(1 + (trial.seed % 16)) },
  verify: {
    name: 'in verify',
    moment: (trial) => onWorkerStart(within(2_500)(trial)),
    release: { env: { READY_AFTER: '4' } },
  },
  anywhere: { name: 'at a random moment', moment: (trial) => afterMs(within(4_000)(trial)) },
} as const satisfies Record<string, Place>;

/** An action on the engine, after which the engine responds again. */
export interface Strike {
  name: string;
  /** `judge` has to be called while nothing of the update is running. */
  act(host: OwnHost, trial: Trial, judge: () => Promise<void>): Promise<void>;
  /** The updater does not wait that long: the update may have another outcome than its target. */
  long?: boolean;
}

export function interrupted(
  group: GroupName,
  strike: Strike,
  place: Place,
  [tries, shortTries = 0]: readonly [tries: number, shortTries?: number],
): Fault {
  return {
    group,
    name: `${strike.name} ${place.name}`,
    installs: installNames,
    tries,
    shortTries,
    run: (trial) => tryInterruption(trial, strike, place),
  };
}

async function tryInterruption(trial: Trial, strike: Strike, place: Place): Promise<void> {
  const { subject, hurry, slowDown } = await subjectFor(trial, place);
  const before = await subject.look();
  const to = await subject.publish(place.release);
  const attempt = { subject, before, to };
  slowDown();
  const host = ownHost();
  trial.finally(async () => {
    const log = (await readFile(host.engine.logFile, 'utf8')).split('\n').slice(-150).join('\n');
    subject.runs.push({ what: 'the end of its log', name: 'dockerd', log: () => log });
  });
  const { run, why } = await atMoment(
    place.moment(trial),
    subject.instance,
    () => subject.start(to, launched),
    async () => {
      trial.note(`now: ${strike.name}`);
      await strike.act(host, trial, () => expectDeadFiles(attempt));
      trial.note('the engine answers again');
      hurry();
    },
  );
  hurry();
  const result = await awaitComeback(subject, run);
  trial.note(`${why ?? 'the moment came too late'}; ended: ${result.lines.at(-1)?.message}`);
  await subject.forget(run);
  const allowance = { restarted: true };
  if (endingOf(result) === 'broken' && portIsLost.test(result.log)) {
    trial.note('the engine has lost a port of its own: it has to be restarted');
    await expectBroken(attempt, result, allowance);
    await host.engine.stop();
    await host.engine.start();
  } else if (!strike.long && endingOf(result) !== 'updated') {
    const { exitCode, lines } = await subject.update(to);
    throw new Lost([
      `the updater came back and ended ${endingOf(result)}, not updated`,
      `the next run: exit code ${exitCode}, ${lines.at(-1)?.message}`,
    ]);
  } else {
    // Unrelated containers start at their own pace.
    await subject.instance.waitUntilHealthy(60);
    await expectEnding(attempt, result, allowance);
  }
  await nextRun(attempt, allowance);
  if (trial.seed % 3 === 0) await expectUpKeepsVersion(subject);
  else await expectPins(subject);
}

/**
 * If the daemon is killed just after a container has exited, it considers the container's network endpoint stale at
 * its next start, and blocks the port until it is restarted again (engine 26.1.5, "Removing stale endpoint"). In the
 * meantime, no container that publishes the port can be started.
 */
const portIsLost = /Bind for \S+ failed: port is already allocated/;

interface Prepared {
  subject: Subject;
  slowDown(): void;
  hurry(): void;
}

async function subjectFor(trial: Trial, { stopDelay, slowPull }: Place): Promise<Prepared> {
  const nothing = { slowDown: () => {}, hurry: () => {} };
  if (slowPull) {
    const registry = await startBadRegistry(trial.host.registry);
    trial.finally(registry.close);
    return {
      subject: await trial.subject({ registry: registry.host }),
      slowDown: () => registry.fail({ kind: 'slow', bytesPerSecond: 100_000 }, { on: 'blobs' }),
      hurry: () => registry.fail(null),
    };
  }
  if (stopDelay === undefined) return { subject: await trial.subject(), ...nothing };
  const { options } = releaseOf(trial.install, 0, { env: { STOP_DELAY: `${stopDelay}` } });
  return { subject: await trial.subject({ release: options }), ...nothing };
}
