import { fromWord } from '../inspect/describe.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import { type Installation, movedServices } from '../inspect/installation.ts';
import { type EndingFacts, nothingKnown } from '../log/ending-facts.ts';
import {
  endingFactsOf,
  isAppStopped,
  type Journal,
  type JournalData,
  pendingSentence,
} from '../state/journal.ts';
import type { Lock } from '../state/lock.ts';

/** What a run has got hold of so far; its end gives it back, and tells of the instance by it. */
export interface RunHandles {
  instance: FoundInstance | null;
  lock: Lock | null;
  /** A run that ended early, and whether what it left still stands. */
  earlier: { data: JournalData; stands: boolean } | null;
  installation: Installation | null;
  /** Of this run, or of the one that it goes on with. */
  journal: Journal | null;
}

export const noHandles = (): RunHandles => ({
  instance: null,
  lock: null,
  earlier: null,
  installation: null,
  journal: null,
});

/** What every run has once nobody else may begin one. */
export function begun({ instance, lock }: RunHandles): { instance: FoundInstance; lock: Lock } {
  if (instance === null || lock === null) throw new Error('the run has no lock yet');
  return { instance, lock };
}

/** What the last line of the run says of the instance. */
export function endingFacts({ earlier, installation, journal }: RunHandles): EndingFacts {
  const isHalfDone = earlier?.stands && earlier.data.changeover !== null;
  const halfDone = isHalfDone ? pendingSentence(earlier.data) : null;
  if (installation !== null) {
    return {
      version: fromWord(installation),
      project: installation.project,
      services: movedServices(installation).map(({ name }) => name),
      halfDone,
      touched: journal !== null && journal.data.changeover !== null,
      ...((journal?.data.changeover ? isAppStopped(journal.data) : installation.app.running === 0) && {
        isStopped: true,
      }),
      ...(journal?.data.leftAlone && { leftAlone: journal.data.leftAlone }),
    };
  }
  if (journal !== null) return endingFactsOf(journal.data, halfDone);
  return earlier === null ? nothingKnown : { ...endingFactsOf(earlier.data, halfDone), touched: false };
}
