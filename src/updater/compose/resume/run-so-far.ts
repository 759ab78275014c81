import { type Container, serviceOf } from '../../../engine/container.ts';
import { type EndingFacts, unknownEndingFacts } from '../../run/log/ending-facts.ts';
import {
  isAppStopped,
  type Journal,
  type JournalData,
  journalEndingFactsOf,
  pendingSentence,
  pointFacts,
} from '../../run/state/journal.ts';
import type { Lock } from '../../run/state/lock.ts';
import { runningVersionText } from '../inspect/describe.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import { type Installation, otherContainers, updatedServices } from '../inspect/installation.ts';
import { findMajorChanges } from '../inspect/services/major-changes.ts';

/** Instance that a run updates, and the lock that excludes other updaters. */
export interface LockedInstance {
  instance: FoundInstance;
  lock: Lock;
}

/**
 * State of a run so far. It is required for the cleanup, and for the last log line, which may be written at any moment.
 */
export interface ProjectRunState {
  instance: FoundInstance | null;
  lock: Lock | null;
  /** Interrupted previous run, and whether its changes are still in place; null if there was none. */
  earlier: { data: JournalData; stands: boolean } | null;
  installation: Installation | null;
  /** Journal of this run, or of the run that it resumes. */
  journal: Journal | null;
}

export const emptyProjectRunState = (): ProjectRunState => ({
  instance: null,
  lock: null,
  earlier: null,
  installation: null,
  journal: null,
});

/** Returns the facts about the instance for the last log line of the run. */
export function projectEndingFactsOf({ earlier, installation, journal }: ProjectRunState): EndingFacts {
  const isHalfDone = earlier?.stands && earlier.data.changeover !== null;
  const halfDone = isHalfDone ? pendingSentence(earlier.data) : null;
  if (installation !== null) {
    const safe = safeServices(installation);
    return {
      version: runningVersionText(installation),
      project: installation.project,
      services: journal?.data.changeover
        ? journalEndingFactsOf(journal.data).services
        : updatedServices(installation).map(({ name }) => name),
      ...(safe && { safeServices: safe }),
      halfDone,
      touched: journal !== null && journal.data.changeover !== null,
      ...(journal && pointFacts(journal.data)),
      ...((journal?.data.changeover ? isAppStopped(journal.data) : installation.app.running === 0) && {
        isStopped: true,
      }),
      ...(installation.app.containers.every(isUnwell) && { isUnwell: true }),
      ...(journal?.data.leftAlone && { leftAlone: journal.data.leftAlone }),
    };
  }
  if (journal !== null) return journalEndingFactsOf(journal.data, halfDone);
  return earlier === null
    ? unknownEndingFacts
    : { ...journalEndingFactsOf(earlier.data, halfDone), touched: false };
}

/** Returns the services that can be recreated without a dump of their data; null if no service needs a dump. */
function safeServices(installation: Installation): string[] | null {
  const { containers, model } = installation;
  const names = [...new Set(containers.map(serviceOf))].filter((name) => name in model.services).sort();
  const unsafe = findMajorChanges(otherContainers(installation), model);
  return unsafe.size > 0 ? names.filter((name) => !unsafe.has(name)) : null;
}

const isUnwell = ({ status, health }: Container): boolean =>
  status === 'restarting' || health === 'unhealthy';
