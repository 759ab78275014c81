import {
  wasBeingReplaced,
  wasNotYetStarted,
  wasToBeStarted,
} from '../../../engine/api/project-containers.ts';
import { type Container, hasStarted, isUp } from '../../../engine/container.ts';
import { isNew, recordInPlaceOf, staysDown, type WasInterrupted } from './changeover.ts';
import { isPending, type JournalData } from './journal.ts';

/** Made and not started by an earlier run, on purpose or as it ended: no other compose call is about to start it. */
export const wasLeftDown =
  (data: JournalData | null) =>
  (container: Container): boolean =>
    data !== null &&
    data.changeover !== null &&
    (staysDown(data.changeover, container) || (isPending(data) && isNew(data.changeover, container)));

/**
 * Containers that are down because an earlier run stopped them, or made them and could not start them; or a compose call
 * that was killed. One that somebody has started since is down because somebody wanted it.
 * @param leftovers what killed compose calls have made beside those that they were to replace
 */
export function wasInterrupted(
  data: JournalData | null,
  leftovers: readonly Container[] = [],
): WasInterrupted {
  const byCompose: WasInterrupted = (container) =>
    wasToBeStarted(container) ||
    wasBeingReplaced(container, leftovers) ||
    // Compose makes all and names them before it starts the first, which others may wait for for long.
    (wasNotYetStarted(container) && !wasLeftDown(data)(container));
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
      isNew(data.changeover, container) &&
      !hasStarted(container) &&
      recordInPlaceOf(data.changeover, container)?.runs === true
    );
  };
}
