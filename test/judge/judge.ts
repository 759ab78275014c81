import { judgeForward, judgeNoStart, judgeOldOnly } from './boots.ts';
import { judgeNames, judgeOthers, judgeSameState, judgeSuccessors, type Meanwhile } from './containers.ts';
import { judgeData, judgeVolumes } from './data.ts';
import { differs } from './differs.ts';
import { type Changes, changeFiles, type Files, judgeFiles, judgeFilesTogether } from './files.ts';
import { judgeImages, judgeTags, referencesOf } from './images.ts';
import { judgeLeftovers } from './leftovers.ts';
import type { Look } from './look.ts';

// What an instance must be after a run. Each verdict gives facts: one sentence for each thing that is wrong, none where
// all is well.

const appAndWorker: readonly string[] = ['app', 'worker'];

export interface ExpectedUpdate {
  /** What app and worker run afterwards, such as `v1.1.0`. */
  version: string;
  /** Every file that differs. */
  changed?: Changes;
  /** The mode of files that are new, in octal. Default 600. */
  newMode?: string;
  /** Services that run the new image. Default app and worker; the first is the app. */
  moved?: readonly string[];
  /** Services whose containers are new. Default those that are moved. */
  recreated?: readonly string[];
  /** The reference that is moved to. Default the one that each new container was created from. */
  reference?: string;
}

/**
 * A good update: app and worker answer with the new version from new containers of one new image, as many as before,
 * well and in the same state; every other container is the very same run; the data is there; the compose directory
 * differs in exactly the expected bytes, with modes and owners kept; nothing is left over.
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
 * A refusal, or a failure before anything was stopped: every byte, every tag and every container is as it was, but for
 * somebody's own edits.
 */
export function judgeUntouched(before: Look, after: Look, edited?: Changes): string[] {
  return [
    ...judgeAsBefore(before, after, edited),
    ...differs('containers', before.containers, after.containers),
    ...judgeNoStart(before, after),
  ];
}

/** A failure that was put back: app and worker well on the old image, and everything else as it was. */
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

/** The new version has started and is not well: the files are in one of the states as a whole; nobody else was touched. */
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

/** Whatever happens to app and worker, as many containers are there, with their volumes, and nobody else was touched. */
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
