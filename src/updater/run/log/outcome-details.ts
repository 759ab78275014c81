import * as z from 'zod/mini';
import type { Product } from '../../../core/names/product.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import { joinWithAnd } from './format-values.ts';

export interface OutcomeDetails {
  /** Running version, such as `v1.4.2`; null if not yet known. */
  version: string | null;
  project: ComposeProject | null;
  services: readonly string[];
  /**
   * Services that can be recreated safely. Set only if another service must not be recreated without a dump of its
   * data.
   */
  safeServices?: readonly string[];
  /** Whether a restore point is complete, and the new version has not been rolled back. */
  canRollBack?: boolean;
  /** Services that a restore point covers but the run does not update. They are stopped while data is restored. */
  dataServices?: readonly string[];
  /** State that an interrupted run has left; null if no run was interrupted. */
  interruptedState: string | null;
  mayHaveReplaced: boolean;
  /** Whether the app has no running container and had none before the run. */
  isStopped?: boolean;
  /** Whether all app containers were restarting or unhealthy before the run. */
  isUnwell?: boolean;
  /** Files that the run changed but did not restore, because they were edited during the update. */
  leftAlone?: UserEdits;
  /** Name of the step that was started last. */
  step?: string | null;
  /** Whether the user requested this rollback. */
  isRollback?: boolean;
  /** Command to run again, for advice; by default, the update or the rollback. */
  command?: string;
  /** Product named in messages; svc if missing. */
  product?: Product;
}

const texts = z.readonly(z.array(z.string()));
export const userEditsSchema = z.object({
  paths: texts,
  /** Images that `docker compose up` would use with the current files; null if compose rejects the files. */
  next: z.nullable(texts),
});
export interface UserEdits extends z.infer<typeof userEditsSchema> {}

export const describeEditedFiles = (paths: readonly string[]): string =>
  `another user or process edited ${joinWithAnd(paths)} during the update`;

/** Describes the users' edits that the run kept, and their effect on the next `up`. */
export function describeUserEdits({ paths, next }: UserEdits): string {
  const then =
    next === null
      ? 'docker compose rejects the edited files'
      : `the next docker compose up will start ${next.length > 0 ? joinWithAnd(next) : 'none of the services'}`;
  return `${describeEditedFiles(paths)}; the edits were kept, and ${then}`;
}

/** Facts for commands without an instance, and for other commands until the instance is found. */
export const unknownOutcomeDetails: OutcomeDetails = {
  version: null,
  project: null,
  services: [],
  interruptedState: null,
  mayHaveReplaced: false,
};
