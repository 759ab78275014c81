import * as z from 'zod/mini';
import type { Product } from '../../../core/progress/product.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import { joinWithAnd } from './wording.ts';

/** Facts about the instance for the last line of a run. */
export interface EndingFacts {
  /** Running version, such as `v1.4.2`; null until found. */
  version: string | null;
  project: ComposeProject | null;
  services: readonly string[];
  /** Services that can be recreated, if another service needs a dump of its data first. */
  safeServices?: readonly string[];
  /** Whether a restore point is complete and the new version has not been rolled back. */
  canRollBack?: boolean;
  /** Services that a restore point covers but the run does not update; stopped while data is restored. */
  dataServices?: readonly string[];
  /** Description of the state that an interrupted run left; null if there is no such state. */
  halfDone: string | null;
  /** Whether containers may have been replaced. */
  touched: boolean;
  /** Whether the app has no running container, and had none before the run. */
  isStopped?: boolean;
  /** Whether all app containers were restarting or unhealthy before the run. */
  isUnwell?: boolean;
  /** Files written by the run that were not restored, because they were edited during the update. */
  leftAlone?: UserEdits;
  /** Name of the last executed step. */
  step?: string | null;
  /** Whether the run is a requested rollback. */
  isRollback?: boolean;
  /** Product whose name the sentences contain; default svc. */
  product?: Product;
}

const texts = z.readonly(z.array(z.string()));
export const userEditsSchema = z.object({
  paths: texts,
  /** Images that `docker compose up` starts with the current files; null if compose rejects the files. */
  next: z.nullable(texts),
});
export interface UserEdits extends z.infer<typeof userEditsSchema> {}

export const describeEditedFiles = (paths: readonly string[]): string =>
  `another user or process edited ${joinWithAnd(paths)} during the update`;

/** Reports that edits made during the update were kept, and how they affect the next `up`. */
export function describeUserEdits({ paths, next }: UserEdits): string {
  const then =
    next === null
      ? 'docker compose rejects the edited files'
      : `the next docker compose up will start ${next.length > 0 ? joinWithAnd(next) : 'none of the services'}`;
  return `${describeEditedFiles(paths)}; the edits were kept, and ${then}`;
}

/** Facts of a run that has not found the instance yet, and of commands without an instance. */
export const unknownEndingFacts: EndingFacts = {
  version: null,
  project: null,
  services: [],
  halfDone: null,
  touched: false,
};
