import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import { type OutcomeDetails, unknownOutcomeDetails } from '../../run/log/outcome-details.ts';
import {
  formatUnfinishedRunMessage,
  isAppStoppedBeforeRun,
  type Journal,
  type JournalData,
  journalOutcomeFactsOf,
  restorePointFactsOf,
} from '../../run/state/journal.ts';
import type { Lock } from '../../run/state/lock.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import { type Installation, unreplacedContainersOf, updatedServicesOf } from '../inspect/installation.ts';
import { formatRunningVersion } from '../inspect/log-installation.ts';
import { findImageMajorVersionWarnings } from '../inspect/services/image-major-versions.ts';

/** Instance that a run updates, and the lock that excludes other updaters. */
export interface LockedInstance {
  instance: FoundInstance;
  lock: Lock;
}

/**
 * State of a run so far, for the cleanup and the last log line. The last log line may have to be written at any moment.
 */
export interface ProjectRunState {
  instance: FoundInstance | null;
  lock: Lock | null;
  /** Interrupted previous run, and whether its changes are still in place; null if no run was interrupted. */
  previousRun: { data: JournalData; stands: boolean } | null;
  installation: Installation | null;
  /** Journal of this run, or of the previous run that this run resumes. */
  journal: Journal | null;
}

export const createProjectRunState = (): ProjectRunState => ({
  instance: null,
  lock: null,
  previousRun: null,
  installation: null,
  journal: null,
});

/** Returns the facts about the instance for the last log line of the run. */
export function projectOutcomeFactsOf({
  previousRun: previous,
  installation,
  journal,
}: ProjectRunState): OutcomeDetails {
  const isHalfDone = previous?.stands && previous.data.changeover !== null;
  const halfDone = isHalfDone ? formatUnfinishedRunMessage(previous.data) : null;
  if (installation !== null) {
    const safe = findSafeServices(installation);
    return {
      version: formatRunningVersion(installation),
      project: installation.project,
      services: journal?.data.changeover
        ? journalOutcomeFactsOf(journal.data).services
        : updatedServicesOf(installation).map(({ name }) => name),
      ...(safe && { safeServices: safe }),
      interruptedState: halfDone,
      mayHaveReplaced: journal !== null && journal.data.changeover !== null,
      ...(journal && restorePointFactsOf(journal.data)),
      ...((journal?.data.changeover
        ? isAppStoppedBeforeRun(journal.data)
        : installation.app.running === 0) && {
        isStopped: true,
      }),
      ...(installation.app.containers.every(isUnhealthy) && { isUnwell: true }),
      ...(journal?.data.leftAlone && { leftAlone: journal.data.leftAlone }),
    };
  }
  if (journal !== null) return journalOutcomeFactsOf(journal.data, halfDone);
  return previous === null
    ? unknownOutcomeDetails
    : { ...journalOutcomeFactsOf(previous.data, halfDone), mayHaveReplaced: false };
}

/** Returns the services that can be recreated without a dump of their data. Null if no service needs a dump. */
function findSafeServices(installation: Installation): string[] | null {
  const { containers, model } = installation;
  const names = [...new Set(containers.map(serviceOf))].filter((name) => name in model.services).sort();
  const unsafe = findImageMajorVersionWarnings(unreplacedContainersOf(installation), model);
  return unsafe.size > 0 ? names.filter((name) => !unsafe.has(name)) : null;
}

const isUnhealthy = ({ status, health }: Container): boolean =>
  status === 'restarting' || health === 'unhealthy';
