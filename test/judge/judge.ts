import { judgeForward, judgeNoStart, judgeOldOnly } from './boots.ts';
import { judgeNames, judgeOthers, judgeSameState, judgeSuccessors, type Meanwhile } from './containers.ts';
import { judgeData, judgeVolumes } from './data.ts';
import { differs } from './differs.ts';
import { type Changes, changeFiles, type Files, judgeFiles, judgeFilesTogether } from './files.ts';
import { judgeImages, judgeTags, referencesOf } from './images.ts';
import { judgeLeftovers } from './leftovers.ts';
import type { Look } from './look.ts';

// The expected state of an instance after a run. Each check returns facts: one sentence for each error.

const appAndWorker: readonly string[] = ['app', 'worker'];

export interface ExpectedUpdate {
  /** The version that app and worker run afterwards, such as `v1.1.0`. */
  version: string;
  /** All changed files. */
  changed?: Changes;
  /** The mode of new files, in octal. Default 600. */
  newMode?: string;
  /** Services that run the new image. Default: app and worker; the first is the app. */
  moved?: readonly string[];
  /** Services with new containers. Default: the updated services. */
  recreated?: readonly string[];
  /** The new reference. Default: the reference that each new container was created from. */
  reference?: string;
}

/**
 * After a successful update, app and worker run the new version in as many new containers of one new image as before,
 * healthy and in the same state. All other containers and the data are unchanged. In the compose directory, only the
 * expected bytes have changed, and modes and owners are unchanged. No temporary objects remain.
 */
export function judgeUpdated(
  before: Look,
  after: Look,
  expected: ExpectedUpdate,
  meanwhile: Meanwhile = {},
): string[] {
  const { version, changed, newMode, moved = appAndWorker, recreated = moved, reference } = expected;
  const worker = before.workerVersion === null ? null : version;
  const now = reference === undefined ? referencesOf(after, moved) : [reference];
  return [
    ...judgeVersions([version, worker], after),
    ...judgeFiles(changeFiles(before.files, changed, newMode), after.files),
    ...judgeNeighbours(before, after, recreated, meanwhile),
    ...judgeSuccessors(before.containers, after.containers, recreated, meanwhile),
    ...judgeImages(before, after, { moved, recreated, reference }),
    ...judgeTags(before, after, now),
    ...judgeForward(before, after, meanwhile),
    ...judgeData(before, after, true),
    ...judgeLeftovers(after),
  ];
}

/**
 * After a refused run, or a failure before any service was stopped, all files, tags and containers are unchanged,
 * except for a user's own edits.
 */
export function judgeUntouched(before: Look, after: Look, edited?: Changes): string[] {
  return [
    ...judgeAsBefore(before, after, edited),
    ...differs('containers', before.containers, after.containers),
    ...judgeNoStart(before, after),
  ];
}

/**
 * After a failed and rolled back update, app and worker are healthy on the old image, and everything else is
 * unchanged.
 */
export function judgeBroughtBack(
  before: Look,
  after: Look,
  edited?: Changes,
  meanwhile: Meanwhile = {},
): string[] {
  return [
    ...judgeAsBefore(before, after, edited),
    ...judgeNeighbours(before, after, appAndWorker, meanwhile),
    ...judgeSameState(before.containers, after.containers, appAndWorker),
    ...judgeOldOnly(before, after),
  ];
}

/**
 * The new version was started and is unhealthy: all files are in one of the states, and unrelated containers are
 * unchanged.
 */
export function judgeBroken(
  before: Look,
  after: Look,
  states: Readonly<Record<string, Files>>,
  meanwhile: Meanwhile = {},
): string[] {
  return [
    ...judgeFilesTogether(states, after.files),
    ...judgeNeighbours(before, after, appAndWorker, meanwhile),
    ...judgeForward(before, after, meanwhile),
    ...judgeData(before, after, false),
    ...judgeLeftovers(after),
  ];
}

function judgeAsBefore(before: Look, after: Look, edited?: Changes): string[] {
  return [
    ...judgeVersions([before.version, before.workerVersion], after),
    ...judgeFiles(changeFiles(before.files, edited), after.files),
    ...judgeTags(before, after),
    ...judgeData(before, after, true),
    ...judgeLeftovers(after),
  ];
}

/**
 * Regardless of app and worker, there are as many containers as before with their volumes, and unrelated containers
 * are unchanged.
 */
function judgeNeighbours(
  before: Look,
  after: Look,
  recreated: readonly string[],
  meanwhile: Meanwhile,
): string[] {
  return [
    ...judgeNames(before.containers, after.containers),
    ...judgeOthers(before.containers, after.containers, recreated, meanwhile),
    ...judgeVolumes(before, after),
  ];
}

const judgeVersions = (
  [app, worker]: readonly [string | null, string | null],
  { version, workerVersion }: Look,
): string[] => [
  ...(version === app ? [] : [`app answers ${version ?? 'nothing'}, not ${app ?? 'nothing'}`]),
  ...(workerVersion === worker
    ? []
    : [`worker writes ${workerVersion ?? 'nothing'}, not ${worker ?? 'nothing'}`]),
];
