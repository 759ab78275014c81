import {
  isStoppedForReplacement,
  isUnstartedReplacement,
  isUnstartedWithTemporaryName,
} from '../../../engine/containers/project-containers.ts';
import { type Container, hasStarted, isUp } from '../../../engine/objects/container.ts';
import { isRunUnfinished, type JournalData } from './journal.ts';
import {
  type InterruptionPredicate,
  isNewContainer,
  replacedContainerRecordOf,
  shouldStayStopped,
} from './rollout.ts';

/**
 * Recognizes containers that a previous run created but did not start. They do not indicate a concurrent compose
 * command.
 */
export const createUnstartedContainerFilter =
  (data: JournalData | null) =>
  (container: Container): boolean =>
    data !== null &&
    data.changeover !== null &&
    (shouldStayStopped(data.changeover, container) ||
      (isRunUnfinished(data) && isNewContainer(data.changeover, container)));

/**
 * Recognizes containers that are down because of a previous run or a killed compose command. Excludes containers that
 * were started again afterwards, because only a user can have stopped those.
 * @param leftovers - containers that killed compose commands created as replacements
 */
export function createInterruptionPredicate(
  data: JournalData | null,
  leftovers: readonly Container[] = [],
): InterruptionPredicate {
  const byCompose: InterruptionPredicate = (container) =>
    isUnstartedWithTemporaryName(container) ||
    isStoppedForReplacement(container, leftovers) ||
    // Compose names all containers before it starts any. If compose is killed in between, named containers remain
    // unstarted.
    (isUnstartedReplacement(container) && !createUnstartedContainerFilter(data)(container));
  if (data === null) return byCompose;
  const records = data.changeover?.containers ?? data.containers;
  return (container) => {
    if (isUp(container)) return false;
    if (byCompose(container)) return true;
    const record = records.find(({ id }) => id === container.id);
    if (record) {
      return (
        record.runs && (record.down || isRunUnfinished(data)) && record.startedAt === container.startedAt
      );
    }
    if (data.changeover === null || !isRunUnfinished(data)) return false;
    return (
      isNewContainer(data.changeover, container) &&
      !hasStarted(container) &&
      replacedContainerRecordOf(data.changeover, container)?.runs === true
    );
  };
}
