import {
  isStoppedForReplacement,
  isUnstartedReplacement,
  isUnstartedWithTemporaryName,
} from '../../../engine/containers/project-containers.ts';
import { type Container, hasStarted, isUp } from '../../../engine/objects/container.ts';
import { isPending, type JournalData } from './journal.ts';
import { type InterruptionTest, isNewContainer, replacedRecordOf, shouldStayStopped } from './rollout.ts';

/**
 * Finds containers that a previous run created but did not start, on purpose or because it ended. No concurrent compose
 * command is about to start them.
 */
export const createNotStartedTest =
  (data: JournalData | null) =>
  (container: Container): boolean =>
    data !== null &&
    data.changeover !== null &&
    (shouldStayStopped(data.changeover, container) ||
      (isPending(data) && isNewContainer(data.changeover, container)));

/**
 * Finds containers that are down because a previous run stopped them or could not start them, or because a compose
 * command was killed. A container that was started after that is down because a user stopped it.
 * @param leftovers containers that killed compose commands created as replacements
 */
export function createInterruptionTest(
  data: JournalData | null,
  leftovers: readonly Container[] = [],
): InterruptionTest {
  const byCompose: InterruptionTest = (container) =>
    isUnstartedWithTemporaryName(container) ||
    isStoppedForReplacement(container, leftovers) ||
    // Compose creates and names all containers before it starts the first one, and the others may wait a long time for
    // it.
    (isUnstartedReplacement(container) && !createNotStartedTest(data)(container));
  if (data === null) return byCompose;
  const records = data.changeover?.containers ?? data.containers;
  return (container) => {
    if (isUp(container)) return false;
    if (byCompose(container)) return true;
    const record = records.find(({ id }) => id === container.id);
    if (record) {
      return record.runs && (record.down || isPending(data)) && record.startedAt === container.startedAt;
    }
    if (data.changeover === null || !isPending(data)) return false;
    return (
      isNewContainer(data.changeover, container) &&
      !hasStarted(container) &&
      replacedRecordOf(data.changeover, container)?.runs === true
    );
  };
}
