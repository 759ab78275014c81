import type { FileState } from '../../../core/files/transaction/file-record.ts';
import {
  hasSameImage,
  isContainerOfImage,
  isSameImage,
  type LocalImage,
} from '../../../engine/comparison/same-image.ts';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import type { JournalData } from '../../run/state/journal.ts';
import { isPreviousContainer, type Rollout, serviceContainerRecordsOf } from '../../run/state/rollout.ts';
import { isBeforeReplacing, rollbackOf, stageOf } from '../../run/state/run-state.ts';

/** Current state of the files, containers and images that the previous run worked on. */
export interface CurrentProjectState {
  files: readonly { path: string; state: FileState }[];
  /**
   * Containers of the project, without compose's leftovers. An unfinished container that never ran does not indicate a
   * change.
   */
  containers: readonly Container[];
  /** Local images, keyed by the references that the run was to install. */
  images: ReadonlyMap<string, LocalImage>;
}

/**
 * Finds a change that another process must have made after the previous run. Returns the beginning of a sentence about
 * the change; null if there is no such change.
 */
export function findExternalChange(data: JournalData, now: CurrentProjectState): string | null {
  const { changeover: rollout, state } = data;
  const stage = stageOf(state);
  const isGoingBack = rollbackOf(state) !== null;
  // Always complete a data restore, because it stops containers that were started in the meantime.
  if (stage === 'restoring') return null;
  const other = now.files.find(({ state }) => state === 'other');
  if (other) return `${other.path} matches neither the original file nor the file that the update wrote`;
  if (stage === 'pulling') return null;

  if (rollout === null) {
    const strange = now.containers.find(
      (container) =>
        data.services.includes(serviceOf(container)) &&
        !data.containers.some(({ id }) => id === container.id),
    );
    return strange ? `${strange.name} was created by another process` : null;
  }
  const strange = now.containers.find((each) => !couldBeFromRun(rollout, each, isGoingBack));
  if (strange) return `${strange.name} was created by another process`;
  // During a rollback or before containers are replaced, files and tags may be old or new.
  if (isGoingBack || isBeforeReplacing(state)) return null;
  const old = now.files.find(({ state }) => state === 'before');
  if (old) return `${old.path} was changed back to its original contents`;
  const moved = rollout.moved.find(
    ({ image }) => image !== null && !isSameImage(image, now.images.get(image.reference)),
  );
  return moved?.image ? `${moved.image.reference} now points to a different image` : null;
}

function couldBeFromRun(rollout: Rollout, container: Container, goingBack: boolean): boolean {
  const moved = rollout.moved.find(({ name }) => name === serviceOf(container));
  if (!moved || isPreviousContainer(rollout, container)) return true;
  if (isContainerOfImage(container, moved.image)) return true;
  const isOfOldImage = serviceContainerRecordsOf(rollout, moved.name).some((record) =>
    hasSameImage(record, container),
  );
  return (moved.image === null || goingBack) && isOfOldImage;
}
