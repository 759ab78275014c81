import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleepFor } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Compose, ComposeModel } from '../../../engine/cli/compose.ts';
import { parseComposeMessages } from '../../../engine/cli/compose-output.ts';
import { explainProxyError, proxyAdvice } from '../../../engine/proxy-error.ts';
import { classifyPullFailure, type PullRetryPolicy } from '../../../engine/registry/classify-pull-failure.ts';
import { type PullProgress, PullProgressMeter } from '../../../engine/registry/pull-progress.ts';
import type { Log } from '../../run/log/run-log.ts';
import type { RunContext } from '../../run/run-context.ts';
import { findFailedImages } from './find-failed-images.ts';

/**
 * Pauses in ms before the second, third and fourth try. There are few tries, because registries limit requests. With
 * the containerd store, each try sends five requests.
 */
const pausesMs: Readonly<Record<PullRetryPolicy, readonly number[]>> = {
  never: [],
  once: [2_000],
  patiently: [5_000, 20_000],
  often: [2_000, 5_000, 10_000],
};
const progressEveryMs = 1_000;
/**
 * Progress is logged for pulls of at least this many bytes. A smaller pull finishes before its progress can be read.
 */
const minReportedBytes = 1_000_000;

export type PullLog = Pick<Log, 'info' | 'warn' | 'progress'>;

interface PullOptions {
  /** Whether to log percentages. False for later pulls, because percentages must not decrease within a phase. */
  percent?: boolean;
  /** Deadline shared by all pulls of the run, as a `performance.now()` time in ms. */
  deadline: number;
  /** Platform to mention in the advice of error messages, such as `linux/amd64`. */
  platform?: string;
  /** Compose model of the current files, from which the platform of each service is taken. */
  model?: ComposeModel;
}

/**
 * Pulls images with compose, and retries temporary failures up to three times. A temporary override file contains the
 * references, so no project file changes.
 * @throws UpdateError pull-…
 */
export async function pullImages(
  dataContext: Pick<RunContext, 'engine'> & { log: PullLog },
  compose: Compose,
  references: ReadonlyMap<string, string>,
  { model, ...options }: PullOptions,
): Promise<void> {
  // If services share an image, compose pulls it only for the first service's platform. Therefore, pull the images for
  // each platform separately.
  const chosen = Map.groupBy(references, ([service]) => model?.services[service]?.platform ?? '');
  let percent = options.percent ?? true;
  for (const group of chosen.values()) {
    await pullImageGroup(dataContext, compose, new Map(group), { ...options, percent });
    percent = false;
  }
}

async function pullImageGroup(
  { engine, log }: Pick<RunContext, 'engine'> & { log: PullLog },
  compose: Compose,
  references: ReadonlyMap<string, string>,
  { percent = true, deadline, platform }: Omit<PullOptions, 'model'>,
): Promise<void> {
  const names = [...new Set(references.values())].join(', ');
  const directory = await mkdtemp(join(tmpdir(), 'svc-updater-pull-'));
  try {
    const override = join(directory, 'override.yaml');
    await writeFile(override, formatOverrideFile(references));
    const meter = new PullProgressMeter();
    let oneByOne = false;
    for (let attempt = 0; ; attempt++) {
      const tell = createPullProgressReporter(names, log, percent);
      const deadlineMs = deadline - performance.now();
      if (deadlineMs <= 0) throw createPullTimeoutError(names);
      const result = await compose.pull([...references.keys()], override, {
        deadlineMs,
        onStderrLine: (line) => tell(meter.readLine(line)),
        oneByOne,
      });
      if (result.exitCode === 0) break;
      if (result.timedOut) throw createPullTimeoutError(names);
      const messages = parseComposeMessages(result.stderr);
      const refused = explainProxyError(messages.join('\n'));
      if (refused !== null) {
        throw new UpdateError('pull-failed', `${names}: ${refused}`, {
          detail: messages,
          advice: proxyAdvice,
        });
      }
      const failure = classifyPullFailure(messages.join('\n'), references.values());
      const failed = findFailedImages(references.values(), messages, failure.code).join(', ');
      // If the registry limits requests, pull one image at a time.
      oneByOne ||= failure.retryPolicy === 'patiently';
      const pauseMs = pausesMs[failure.retryPolicy][attempt];
      if (pauseMs === undefined || performance.now() + pauseMs > deadline) {
        const again = attempt > 0 ? `, after ${attempt + 1} tries` : '';
        const advice =
          failure.code === 'pull-unknown' && platform !== undefined
            ? `Check that ${failed} is published for ${platform}, then run {command} again.`
            : failure.advice;
        throw new UpdateError(failure.code, `${failed}: ${failure.sentence}${again}`, {
          detail: messages,
          ...(advice !== undefined && { advice }),
        });
      }
      log.warn(
        `${failed}: ${failure.sentence}; trying again in ${pauseMs / 1000} s (${messages.at(-1) ?? 'no reason given'})`,
      );
      await sleepFor(pauseMs, engine.aborted);
      engine.aborted.throwIfAborted();
    }
    if (percent) log.progress(100, `pulled ${names}`);
    else log.info(`pulled ${names}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Creates the override file. Apart from the `!reset` tag, its text is JSON, which is valid YAML. */
function formatOverrideFile(references: ReadonlyMap<string, string>): string {
  // Remove the `pre_start` hooks, because compose 5.3 and later would pull the current images of hooks. These images
  // may not exist in any registry.
  const services = [...references].map(
    ([service, image]) =>
      `${JSON.stringify(service)}: {"image": ${JSON.stringify(image)}, "pre_start": !reset []}`,
  );
  return `{"services": {${services.join(', ')}}}`;
}

export const createPullTimeoutError = (names: string) =>
  new UpdateError('pull-timeout', `pulling ${names} took longer than allowed`);

/** Creates a function that logs progress if it has changed, at most one line per second. */
export function createPullProgressReporter(
  names: string,
  log: PullLog,
  percent = true,
): (progress: PullProgress | null) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  let reported = '';
  return (state) => {
    if (!state || state.totalBytes < minReportedBytes || performance.now() - reportedAt < progressEveryMs)
      return;
    const megabytes = (bytes: number) => Math.round(bytes / 1_000_000);
    const done = megabytes(state.doneBytes);
    // The percentage and the total are unknown until the sizes of all layers are known.
    const sentence = `${names} ${state.percent === null ? `${done} MB so far` : `${done} of ${megabytes(state.totalBytes)} MB`}`;
    const news = `${state.percent} ${sentence}`;
    if (news === reported) return;
    reportedAt = performance.now();
    reported = news;
    if (percent && state.percent !== null) log.progress(state.percent, sentence);
    else log.info(sentence);
  };
}
