import * as z from 'zod/mini';
import type { Product } from '../../../core/progress/product.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import { and } from './wording.ts';

/** Facts about the instance that the last line of a run needs. */
export interface EndingFacts {
  /** `v1.4.2`, once it has been found. */
  version: string | null;
  project: ComposeProject | null;
  services: readonly string[];
  /** The services that can be recreated, if another one needs a dump of its data first. */
  safeServices?: readonly string[];
  /** A restore point is complete, and the new version has not been rolled back. */
  canRollBack?: boolean;
  /** Covered by a restore point and not updated: stopped while data is restored. */
  dataServices?: readonly string[];
  /** The state that an interrupted run left, until it is resolved. */
  halfDone: string | null;
  /** Containers may have been replaced. */
  touched: boolean;
  /** No container of the app is running, and none was running before the run. */
  isStopped?: boolean;
  /** Every container of the app was restarting or unhealthy before the run. */
  isUnwell?: boolean;
  /** Written files that were not restored, because they were edited during the update. */
  leftAlone?: LeftAlone;
  /** The step that was taken last. */
  step?: string | null;
  /** The run is a requested rollback. */
  isRollback?: boolean;
  /** Product to name in the sentences; default svc. */
  product?: Product;
}

const texts = z.readonly(z.array(z.string()));
export const leftAloneSchema = z.object({
  paths: texts,
  /** The images that `docker compose up` starts with the files as they are; null where compose rejects them. */
  next: z.nullable(texts),
});
export interface LeftAlone extends z.infer<typeof leftAloneSchema> {}

export const wereEdited = (paths: readonly string[]): string =>
  `another user or process edited ${and(paths)} during the update`;

/** Edits made during the update are kept, and the next `up` uses them. */
export function editedSince({ paths, next }: LeftAlone): string {
  const then =
    next === null
      ? 'docker compose rejects the edited files'
      : `the next docker compose up will start ${next.length > 0 ? and(next) : 'none of the services'}`;
  return `${wereEdited(paths)}; the edits were kept, and ${then}`;
}

/** The facts of a run that ends before it has found the instance, and of commands without an instance. */
export const nothingKnown: EndingFacts = {
  version: null,
  project: null,
  services: [],
  halfDone: null,
  touched: false,
};
